"""Parts of the dashboard that need no job on Spark, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from rekindle.rest.server import RestServer
from rekindle.rest.serving import rest_interface
from rekindle.rest.settings import RestSettings
from rekindle.runtime.master.running_jobs import RunningJobs
from support.browser import CHROMEDRIVER, CHROMIUM, DESKTOP, MISSING, Browser, browsing
from support.processes import wait_until
from support.rest_jobs import JOB, PLAN, FakeMaster

pytestmark = pytest.mark.skipif(CHROMIUM is None or CHROMEDRIVER is None, reason=MISSING)

LONG = "Totals of orders by customer-and-day_in_their-own-time-zone"


@pytest.fixture(scope="module")
def master() -> FakeMaster:
    nodes = (PLAN.nodes[0], replace(PLAN.nodes[1], type=LONG), PLAN.nodes[2])
    return FakeMaster(plan=replace(PLAN, nodes=nodes)).run()


@pytest.fixture(scope="module")
def browser(master: FakeMaster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    patch = pytest.MonkeyPatch()
    patch.setenv("REKINDLE_STATE_DIR", str(tmp_path_factory.mktemp("state")))
    jobs = RunningJobs()
    try:
        jobs.register(master, rest_interface(RestSettings(ports=(0,))))
        assert isinstance(jobs.server, RestServer)
        assert jobs.server.wait_until_ready(30)
        with browsing(str(jobs.server.url), tmp_path_factory.mktemp("profile")) as browser:
            browser.resize(DESKTOP)
            yield browser
    finally:
        jobs.close()
        patch.undo()


def test_names_in_the_graph_are_whole_and_stay_on_their_cards(browser: Browser) -> None:
    browser.go(f"jobs/{JOB}/overview")
    browser.until(".graph", "Sink: Out")
    drawn: Any = browser.run(
        "return [...document.querySelectorAll('.graph a')].map(card => ({"
        "  name: [...card.querySelectorAll('text.name')].map(each => each.textContent),"
        "  right: Math.max(...[...card.querySelectorAll('text.name')].map(each => each.getBoundingClientRect().right)),"
        "  bottom: Math.max(...[...card.querySelectorAll('text')].map(each => each.getBoundingClientRect().bottom)),"
        "  circle: card.querySelector('circle').getBoundingClientRect().left,"
        "  end: card.querySelector('rect.card').getBoundingClientRect().bottom}))"
    )
    names = ["".join(card["name"]).replace(" ", "") for card in drawn]
    assert names == ["Source:numbers", LONG.replace(" ", ""), "Sink:Out"]
    for card in drawn:
        assert card["right"] <= card["circle"]
        assert card["bottom"] <= card["end"]


def test_a_checkpoint_that_is_replaced_while_it_is_read_gives_way_to_the_newer_one(browser: Browser) -> None:
    browser.go(f"jobs/{JOB}/overview")
    browser.until(".graph", "Sink: Out")
    shown: Any = browser.run(
        """
        const entry = (id) =>
          ({ id, status: "COMPLETED", discarded: false, external_path: "/c/" + id, trigger_timestamp: 0 });
        const lists = [[entry(1)], [entry(2)]];
        const told = { checkpoint_id: 2, format: "heap", size: 1, timestamp: 0, location: "/c/2", operators: [] };
        const own = window.fetch;
        window.fetch = async (path) => {
          const answer = (body, status = 200) => new Response(JSON.stringify(body), { status });
          if (path.endsWith("/checkpoints")) return answer({ history: lists.length > 1 ? lists.shift() : lists[0] });
          if (path.includes("details/1/")) return answer({ errors: ["Checkpoint 1 has been deleted"] }, 404);
          if (path.includes("details/2/")) return answer(told);
          return answer({ enabled: false, states: [] });
        };
        return (async () => {
          const { statePage } = await import("/dashboard/state.js");
          const page = statePage({ path: "jobs/x", history: false });
          page.update({ checkpoints: { counts: { completed: 1 } } });
          for (let i = 0; i < 100 && !page.element.textContent.includes("/c/2"); i++)
            await new Promise((done) => setTimeout(done, 20));
          window.fetch = own;
          return page.element.textContent;
        })();
        """
    )
    assert "checkpoint 2 of" in shown
    assert "It holds no operators./c/2" in shown
    assert "has been deleted" not in shown


def test_a_job_is_stopped_with_a_savepoint_after_a_question(browser: Browser, master: FakeMaster) -> None:
    browser.go(f"jobs/{JOB}/overview")
    browser.until(".head", "Stop with savepoint")
    browser.click("#stop-job")
    browser.until("dialog[open]", "Stop the job with a savepoint?")
    browser.type("#ask-input", "/savepoints")
    browser.click("#ask-yes")
    wait_until(lambda: ("stop", "/savepoints", False) in master.asked, "the job is stopped")
    master.savepoint.set_result("/savepoints/one")
    browser.until("#status", "Stopped. Savepoint: /savepoints/one")

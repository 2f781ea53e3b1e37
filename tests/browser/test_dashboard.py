"""The dashboard of a real job on Spark, in a real browser.

The tests share one job and follow each other. With DASHBOARD_IMAGES=docs/images they make the pictures of the
documentation; else pictures are made in a temporary directory, and thrown away.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rekindle.rest.discovery import discovered
from support.browser import CHROMEDRIVER, CHROMIUM, DESKTOP, MISSING, PHONE, Browser, browsing
from support.driver import Driver, driver
from support.processes import command_line, is_slot, tagged_pids, wait_until

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(CHROMIUM is None or CHROMEDRIVER is None, reason=MISSING),
]

IMAGES = os.environ.get("DASHBOARD_IMAGES")
NAME, READ = ("Orders", "Read order") if IMAGES else ("Orders & <i>totals</i>", "Read <b>order</b>")
PAGES = ("overview", "epochs", "checkpoints", "savepoints", "exceptions", "configuration", "state")


@dataclass(frozen=True)
class Shown:
    """A job, and a browser that looks at it."""

    browser: Browser
    driver: Driver
    directory: Path
    job_id: str
    url: str
    images: Path

    def go(self, page: str, *words: str) -> None:
        """Go to a page of the job, and wait for some words."""
        self.browser.go(f"jobs/{self.job_id}/{page}")
        self.browser.until("main", NAME, *words)

    def picture(self, name: str) -> None:
        """Make a picture of the page."""
        self.browser.save(self.images / f"{name}.png")

    def no_problems(self) -> None:
        """Require that the console is quiet."""
        assert self.browser.problems() == []


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    directory = Path(tempfile.gettempdir(), "orders") if IMAGES else tmp_path_factory.mktemp("orders")
    if IMAGES:  # no picture is to show where it was made
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
    images = Path(IMAGES or tmp_path_factory.mktemp("images"))
    environment = {"TZ": "UTC", **({"ORDERS_PLAIN": "1"} if IMAGES else {})}
    with driver("orders.py", str(directory), environment=environment) as running:
        wait_until(lambda: "REST interface: http" in running.output(), "the driver listens", 120)
        url = running.output().partition("REST interface: ")[2].split()[0]
        wait_until(lambda: "attempt 1 runs" in running.output(), "the job runs", 120)
        with browsing(url, tmp_path_factory.mktemp("profile")) as browser:
            browser.resize(DESKTOP)
            browser.go()
            browser.until("main", NAME)
            link = browser.run("return document.querySelector('tbody a').getAttribute('href')")
            job_id = str(link).split("/")[2]
            yield Shown(browser, running, directory, job_id, url.partition("/?")[0], images)


def test_the_list_of_jobs_leads_to_a_job(shown: Shown) -> None:
    assert "RUNNING" in shown.browser.text()
    shown.browser.click(".scroll tbody a")
    shown.browser.until("h1", NAME)
    shown.browser.until("#live", "live")
    assert shown.browser.count("main i, main b") == 0, "names are no markup"
    shown.no_problems()


def test_the_graph_shows_levels_exchanges_and_numbers(shown: Shown) -> None:
    shown.go("overview", "Level 0", "Level 1", "Level 2", "hash", "Totals by customer", READ)
    assert shown.browser.count(".graph .edge.exchange") == 2
    shown.browser.until(".tiles", "Last checkpoint")
    words = "return [...document.querySelectorAll('.graph a')].map(a => a.getAttribute('aria-label')).join('|')"
    wait_until(lambda: re.search(r"busy [1-9]\d* %", shown.browser.run(words)), "an operator is busy")
    wait_until(lambda: re.search(r"back-pressured [1-9]\d* %", shown.browser.run(words)), "an operator is held up")
    shown.browser.until("main", "Records from sources over the whole run")
    wait_until(lambda: "KiB" in shown.browser.text(".scroll table"), "bytes are counted")
    shown.browser.click(".graph a:nth-of-type(3)")
    shown.browser.until("main", "Subtasks of Totals by customer")
    assert shown.browser.count("tr[data-chosen]") == 1
    shown.no_problems()


def test_epochs_go_on_by_themselves(shown: Shown) -> None:
    shown.go("epochs", "Average duration", "Slots at work")
    last = "return Number(document.querySelector('.scroll tbody th').innerText.replace(',', ''))"
    before = shown.browser.run(last)
    wait_until(lambda: shown.browser.run(last) > before, "another epoch is shown")
    wait_until(lambda: shown.browser.count(".uplot") == 2, "there are charts")
    shown.no_problems()


def test_checkpoints_are_shown_as_flink_does(shown: Shown) -> None:
    shown.go("checkpoints", "COMPLETED", "Summary", "Configuration", "exactly once", "p99", "Sizes over time")
    wait_until(lambda: shown.browser.count(".uplot") == 2, "there are charts")
    shown.browser.click(".scroll tbody a")
    shown.browser.until("main", "By operator", "Totals by customer", "By subtask")
    shown.browser.click("details:nth-of-type(3) summary")
    shown.browser.until("details[open]", "In the background", "Stood still")
    shown.no_problems()


def test_a_checkpoint_is_taken_by_hand(shown: Shown) -> None:
    shown.go("checkpoints", "History")
    shown.browser.click("#take-checkpoint")
    shown.browser.until("#status", "is complete")
    shown.no_problems()


def test_a_savepoint_is_clicked_and_completes(shown: Shown) -> None:
    shown.go("savepoints", "No savepoint has been taken")
    shown.browser.click("#savepoint")
    shown.browser.until("main", "Complete: ")
    where = re.search(r"Complete: (\S+)", shown.browser.text())
    assert where is not None
    assert (Path(where[1]) / "_metadata").is_file()
    shown.browser.until(".scroll table", "savepoint", "COMPLETED", where[1])
    shown.no_problems()


def test_a_savepoint_that_cannot_be_taken_says_why(shown: Shown) -> None:
    shown.go("savepoints", "Take a savepoint")
    shown.browser.type("#directory", "nowhere://at/all")
    shown.browser.click("#savepoint")
    shown.browser.until(".bad", "nowhere")
    shown.browser.problems()  # the refusal is in the console, too


def test_a_killed_slot_is_seen_as_a_restart(shown: Shown) -> None:
    shown.go("exceptions", "This job has not failed")
    slots = [pid for pid in tagged_pids(shown.driver.tag) if is_slot(pid)]
    assert slots, [command_line(pid) for pid in tagged_pids(shown.driver.tag)]
    os.kill(max(slots), signal.SIGKILL)
    shown.browser.until("main", "SlotLostError", "RESTARTING", "followed by a restart")
    shown.browser.until("main", "Attempt 1", "restored from".capitalize(), "checkpoint")
    shown.browser.until("h1 + .pill", "RUNNING")
    wait_until(lambda: shown.browser.count("tbody tr") == 2, "both attempts are listed")
    shown.no_problems()


def test_what_user_code_raises_is_shown_as_it_is(shown: Shown) -> None:
    shown.go("exceptions")
    (shown.directory / "fail").touch()
    shown.browser.until("pre", "<img src=x onerror=alert(1)> is not an order", "orders.py", "process_element")
    assert shown.browser.count("main img") == 0
    shown.browser.until("article", "Totals by customer")
    shown.browser.until("h1 + .pill", "RUNNING")
    shown.picture("dashboard-exceptions")
    shown.no_problems()


def test_settings_have_their_origins(shown: Shown) -> None:
    shown.go("configuration", "execution.checkpointing.interval", "2 s", "program")
    rows = shown.browser.count("tbody tr")
    shown.browser.click("#all")
    wait_until(lambda: shown.browser.count("tbody tr") > rows + 50, "defaults are listed, too")
    shown.browser.type("#search", "rocksdb")
    wait_until(lambda: 0 < shown.browser.count("tbody tr") < 60, "fewer fit")
    shown.no_problems()


@pytest.mark.parametrize("consistency", ["live", "checkpointed"])
def test_a_key_is_looked_up(shown: Shown, consistency: str) -> None:
    shown.go("state", "Queryable state", "Look up")
    shown.browser.type("#state-key", "3")
    shown.browser.type("#consistency", consistency)
    shown.browser.click("#look-up")
    shown.browser.until("pre", '"name": "customer-totals"', f'"consistency": "{consistency}"', '"value": ')
    shown.no_problems()


def test_what_a_checkpoint_holds_can_be_seen(shown: Shown) -> None:
    shown.go("state", "Queryable state", "What a checkpoint holds")
    shown.browser.until(".scroll table", "by day", "map", "total", "value", "split list", "500")
    shown.no_problems()


@pytest.mark.parametrize("dark", [False, True])
def test_every_page_fits_a_phone_and_is_complete_for_a_screen_reader(shown: Shown, dark: bool) -> None:
    shown.browser.resize(PHONE, dark)
    try:
        for page in PAGES:
            shown.go(page)
            shown.browser.until(".tabs [aria-current]", page.capitalize())
            wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert shown.browser.run(wide) == 0, f"{page} is wider than a phone"
            assert shown.browser.count("h1") == 1
            assert shown.browser.count("main, header") == 2
            assert shown.browser.count(".scroll table:not(:has(caption))") == 0
            assert shown.browser.count("thead th:not([scope])") == 0
            assert shown.browser.count("figure:not(:has(figcaption))") == 0
            unnamed = (
                "return [...document.querySelectorAll('main input, main select')].filter(e => !e.labels.length).length"
            )
            assert shown.browser.run(unnamed) == 0
        shown.go("overview", "Operators")
        shown.picture("dashboard-phone-dark" if dark else "dashboard-phone")
        shown.no_problems()
    finally:
        shown.browser.resize(DESKTOP)


def test_a_picture_of_the_overview(shown: Shown) -> None:
    shown.go("overview", "Throughput", "Last checkpoint")
    wait_until(lambda: shown.browser.count(".uplot") == 1, "there is a chart")
    if IMAGES:
        rows = "document.querySelector('.tiles dd').innerText.replace(/[^0-9]/g, '')"
        wait_until(lambda: int(shown.browser.run(f"return {rows}")) > 2_000, "there is something to see")
    shown.browser.run("document.getElementById('status').textContent = ''")
    shown.picture("dashboard")
    shown.go("checkpoints", "History")
    wait_until(lambda: shown.browser.count(".uplot") == 2, "there are charts")
    shown.picture("dashboard-checkpoints")


def test_the_keyboard_is_enough(shown: Shown) -> None:
    from selenium.webdriver.common.keys import Keys

    shown.go("overview", "Operators")
    shown.browser.reload()
    shown.browser.until("main", NAME, "Operators")
    focused = [shown.browser.press(Keys.TAB) for _ in range(12)]
    assert "Skip to the content" in focused
    assert {"Take checkpoint", "Take savepoint", "Cancel job", "Overview", "Epochs"} <= set(focused)
    outline = "return getComputedStyle(document.activeElement).outlineStyle"
    assert shown.browser.run(outline) != "none"
    while (at := shown.browser.press(Keys.TAB)) != "Checkpoints":
        assert at
    shown.browser.press(Keys.ENTER)
    shown.browser.until(".tabs [aria-current]", "Checkpoints")


def test_nothing_is_loaded_from_elsewhere(shown: Shown) -> None:
    requests = shown.browser.requests()
    assert any(request.endswith("/events") for request in requests)
    assert {
        request for request in requests if not request.startswith((shown.url, "data:", "chrome", "about:"))
    } == set()


def test_a_job_is_cancelled_after_a_question(shown: Shown) -> None:
    shown.go("overview", "Operators")
    shown.browser.click("#cancel-job")
    shown.browser.until("dialog[open]", "Cancel the job?")
    shown.browser.click("#ask-no")
    assert shown.browser.count("dialog[open]") == 0
    shown.browser.click("#cancel-job")
    shown.browser.until("dialog[open]", "Cancel the job?")
    shown.browser.click("#ask-yes")
    wait_until(lambda: shown.driver.process.poll() is not None, "the driver has ended", 60)


def test_the_history_shows_the_same_pages_afterwards(shown: Shown, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rekindle.cli", "history", str(shown.directory / "checkpoints")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as history:
        try:
            assert history.stdout is not None
            line = history.stdout.readline()
            url = re.search(r"http://\S+", line)
            assert url is not None, line
            with browsing(url[0], tmp_path / "profile") as browser:
                browser.resize(DESKTOP)
                past = Shown(browser, shown.driver, shown.directory, shown.job_id, url[0], shown.images)
                past.go("overview", "CANCELED", "Totals by customer", "Level 2")
                assert browser.count("#cancel-job, #take-savepoint") == 0
                for page, word in [
                    ("epochs", "Slots at work"),
                    ("checkpoints", "Summary"),
                    ("savepoints", "COMPLETED"),
                    ("exceptions", "is not an order"),
                    ("configuration", "restart-strategy.type"),
                    ("state", "What a checkpoint holds"),
                ]:
                    past.go(page, word)
                past.no_problems()
        finally:
            history.send_signal(signal.SIGINT)
    assert all(endpoint.pid != history.pid for endpoint in discovered())

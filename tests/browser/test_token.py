"""A driver that wants a token: the page asks for it, and sends it with everything it does."""

from __future__ import annotations

from pathlib import Path

import pytest

from rekindle.common import Configuration
from rekindle.rest.api import RestApi
from rekindle.rest.server import RestServer
from rekindle.rest.settings import RestSettings
from support.browser import CHROMEDRIVER, CHROMIUM, DESKTOP, MISSING, browsing
from support.processes import wait_until
from support.rest_jobs import FakeMaster, registered

pytestmark = pytest.mark.skipif(CHROMIUM is None or CHROMEDRIVER is None, reason=MISSING)


def test_the_page_asks_for_the_token_until_it_is_right_and_uses_it(tmp_path: Path) -> None:
    configuration = Configuration()
    configuration.set_string("execution.checkpointing.interval", "10 s")
    master = FakeMaster(configuration=configuration).run()
    master.checkpoint.set_result(7)
    jobs = registered(master)
    server = RestServer(RestSettings(token="secret"), lambda: RestApi(jobs), found=False)
    server.start()
    try:
        assert server.wait_until_ready(30)
        assert server.url is not None
        with browsing(server.url, tmp_path / "profile") as browser:
            browser.resize(DESKTOP)
            browser.go()
            for token in ("wrong", "secret"):
                browser.until("dialog[open]", "A token is needed")
                wait_until(
                    lambda: browser.run("return document.getElementById('ask-input').value") == "", "it is empty"
                )
                browser.type("#ask-input", token)
                browser.click("#ask-yes")
            browser.until("main", "a job", "RUNNING")
            browser.until("#live", "live")
            browser.click(".scroll tbody a")
            browser.until("h1", "a job")
            browser.click("#take-checkpoint")
            browser.until("#status", "Checkpoint 7 is complete")
            assert master.asked == [("checkpoint", "CONFIGURED")]
    finally:
        server.stop()


def test_the_address_that_was_printed_proves_who_opens_it_and_does_not_keep_the_token(tmp_path: Path) -> None:
    jobs = registered(FakeMaster().run())
    server = RestServer(RestSettings(token="secret", made_up=True), lambda: RestApi(jobs), found=False)
    server.start()
    try:
        assert server.wait_until_ready(30)
        assert server.dashboard is not None
        with browsing(server.dashboard, tmp_path / "profile") as browser:
            browser.go()
            browser.until("main", "a job", "RUNNING")
            browser.until("#live", "live")
            assert browser.count("dialog[open]") == 0
            assert "secret" not in browser.run("return location.href")
            browser.reload()
            browser.until("main", "a job", "RUNNING")
            assert browser.run("return document.cookie") == ""
    finally:
        server.stop()

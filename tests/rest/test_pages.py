"""The pages of the dashboard: files, sent with a policy that lets them load and run nothing else."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from rekindle.rest.settings import RestSettings
from support.rest_jobs import JOB, FakeMaster, served

DASHBOARD = files("rekindle.dashboard")
OWN = sorted(file.name for file in DASHBOARD.iterdir() if file.name.endswith((".js", ".html", ".css")))
VENDORED = {"uplot.js", "uplot.css"}


def text(name: str) -> str:
    return DASHBOARD.joinpath(name).read_text(encoding="utf-8")


def test_the_page_at_the_root_is_the_dashboard() -> None:
    answer = served(FakeMaster().run()).get("/")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert b"dashboard/app.js" in answer.body


@pytest.mark.parametrize("name", [*OWN, "favicon.svg", "uplot-license.txt"])
def test_files_are_sent_with_their_type_and_a_strict_policy(name: str) -> None:
    answer = served().get(f"/dashboard/{name}")
    assert answer.status == 200
    assert answer.headers["x-content-type-options"] == "nosniff"
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert {policy[kind] for kind in ("script-src", "style-src", "connect-src", "img-src")} == {"'self'"}
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["referrer-policy"] == "no-referrer"


def test_a_file_that_a_browser_has_is_not_sent_again() -> None:
    client = served()
    tag = client.get("/dashboard/app.js").headers["etag"]
    again = client.ask("GET", "/dashboard/app.js", headers={"if-none-match": tag})
    assert (again.status, again.body) == (304, b"")


@pytest.mark.parametrize("name", ["nothing.js", "__init__.py", "..", "%2e%2e%2fconfig.py", "app.js/x", ""])
def test_nothing_else_can_be_asked_for(name: str) -> None:
    assert served().get(f"/dashboard/{name}").status == 404


def test_the_pages_need_no_token_and_everything_else_does() -> None:
    client = served(FakeMaster().run(), settings=RestSettings(bind_address="0.0.0.0", token="secret"))
    for path in ("/", "/dashboard/app.js"):
        answer = client.get(path, host="10.1.2.3:8081")
        assert answer.status == 200
        assert JOB.encode() not in answer.body
    for path in ("/jobs/overview", f"/jobs/{JOB}/events", "/jobs/events", "/config", "/dashboard"):
        assert client.get(path, host="10.1.2.3:8081").status == 401
    assert client.ask("POST", "/", headers={"host": "10.1.2.3:8081"}).status == 401


def test_the_pages_are_not_for_other_hosts_or_origins() -> None:
    client = served()
    assert client.get("/", host="somewhere.example").status == 403
    assert client.get("/dashboard/app.js", origin="http://somewhere.example").status == 403


@pytest.mark.parametrize("name", OWN)
def test_nothing_is_loaded_from_elsewhere_and_nothing_is_inline(name: str) -> None:
    content = text(name)
    if name not in VENDORED:
        assert "innerHTML" not in content
        assert "insertAdjacentHTML" not in content
        assert "eval(" not in content
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", content)
    if name.endswith(".html"):
        assert not re.search(r"<script(?![^>]* src=)|<style|\sstyle=|\son\w+=", content)
    assert "@import" not in content
    assert not re.search(r"url\(\s*['\"]?(?:https?:)?//", content)


def test_modules_import_each_other_only() -> None:
    for name in (name for name in OWN if name.endswith(".js")):
        for found in re.findall(r"^import .* from [\"'](.+)[\"'];$", text(name), re.MULTILINE):
            assert found.startswith("./")
            assert DASHBOARD.joinpath(found[2:]).is_file()

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rekindle.exceptions import ConfigurationError, InvalidCheckpointTransitionError, StateMigrationException
from rekindle.program.program_errors import RUN_REPORT, explain_errors, show_error
from rekindle.program.run_report import ErrorReport, JobReport, read_error, read_reports, write_line
from rekindle.runtime.master.settings.job_settings import settle


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    path = tmp_path / "report"
    path.touch()
    monkeypatch.setenv(RUN_REPORT, str(path))
    return str(path)


def show(error: BaseException) -> None:
    try:
        raise error
    except type(error) as raised:
        show_error(type(raised), raised, raised.__traceback__)


class OwnMistake(StateMigrationException):
    """A class that is none of Rekindle's."""


@pytest.mark.parametrize(
    ("error", "kind"),
    [(ConfigurationError("oops"), "ConfigurationError"), (OwnMistake("oops"), "StateMigrationException")],
)
def test_an_error_of_rekindles_is_words_and_a_report(
    path: str, capsys: pytest.CaptureFixture[str], error: Exception, kind: str
) -> None:
    show(error)
    assert read_error(path) == ErrorReport("oops", kind)
    first, place = capsys.readouterr().err.splitlines()
    assert first == "error: oops"
    assert place.startswith(f"  at {__file__}, line ")
    assert place.endswith(": raise error")


def test_the_place_is_that_in_the_program(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        settle("a", "b", None, None, None)  # type: ignore[arg-type]
    except AttributeError as error:
        show_error(ConfigurationError, ConfigurationError("oops"), error.__traceback__)
    assert "settle(" in capsys.readouterr().err.splitlines()[1]


def test_other_errors_keep_their_traceback(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    show(KeyError("oops"))
    assert "Traceback (most recent call last)" in capsys.readouterr().err
    assert read_error(path) is None
    show(InvalidCheckpointTransitionError("oops"))
    assert "Traceback (most recent call last)" in capsys.readouterr().err
    assert read_error(path) is not None


def test_ctrl_c_needs_no_words(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    show(KeyboardInterrupt())
    assert capsys.readouterr().err == ""
    assert read_error(path) is None


def test_it_is_for_programs_that_a_command_runs(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    own = lambda *_: None  # noqa: E731 - any hook
    for variable, before, after in [
        ("", sys.__excepthook__, sys.__excepthook__),
        (path, own, own),
        (path, sys.__excepthook__, show_error),
    ]:
        monkeypatch.setenv(RUN_REPORT, variable)
        monkeypatch.setattr(sys, "excepthook", before)
        explain_errors()
        assert sys.excepthook is after


def test_errors_and_jobs_are_told_apart(path: str) -> None:
    job = JobReport("a" * 32, "job", "RUNNING")
    for line in (
        job.to_line(),
        ErrorReport("first", "RestError").to_line(),
        ErrorReport("oops", "RestError").to_line(),
    ):
        write_line(path, line)
    assert read_reports(path) == [job]
    assert read_error(path) == ErrorReport("oops", "RestError")

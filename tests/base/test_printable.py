"""What others wrote is shown by terminals and logs, and never obeyed."""

from __future__ import annotations

import contextlib
import io
import logging
import unicodedata

import pytest

from rekindle.base.printable import printable
from rekindle.cli.output import print_error
from rekindle.cli.tables import print_table
from rekindle.exceptions import InvalidProgramError
from rekindle.logs.events import log_event
from rekindle.logs.formats import TextFormat
from rekindle.program import program_errors
from rekindle.runtime.master.views.progress import LiveView
from rekindle.runtime.slot.failure import describe_failure, explain

EVIL = "paid\r\x1b[2J\x1b]0;title\x07 \x9b31m \u202egnp.exe\u2028\ud800"
SHOWN = r"paid\r\x1b[2J\x1b]0;title\x07 \x9b31m \u202egnp.exe\u2028\ud800"


def test_what_a_terminal_would_obey_is_written_as_an_escape_sequence() -> None:
    assert printable(EVIL) == SHOWN
    assert printable(SHOWN) == SHOWN, "done twice it is the same"
    assert printable(r"C:\new") == r"C:\new"


def test_text_stays_as_it_is_whatever_its_script() -> None:
    for text in ("", "plain", "line\n\tnext", "Zürich 東京 🙂👩\u200d🚀 क\u094d\u200dष", "a\xa0b"):
        assert printable(text) == text


def test_no_control_character_but_line_ends_and_tabs_is_left() -> None:
    every = "".join(map(chr, range(0x3000)))
    assert {letter for letter in printable(every) if unicodedata.category(letter) == "Cc"} == {"\n", "\t"}


class TestEveryPlaceThatShowsIt:
    def test_failures_of_user_code(self) -> None:
        try:
            raise ValueError(EVIL)
        except ValueError as error:
            failure = describe_failure(error, 0)
        for text in (explain(failure), failure.summary, failure.traceback):
            assert SHOWN in text
            assert printable(text) == text

    def test_logs_of_jobs_and_of_others(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.INFO, "rekindle.job"):
            log_event(logging.INFO, EVIL, None, "notice", EVIL)
        assert caplog.messages == [f"[{SHOWN}] {SHOWN}"]
        record = logging.makeLogRecord({"msg": EVIL, "name": "rekindle.x"})
        assert TextFormat().format(record).endswith(f"rekindle.x: {SHOWN}")

    def test_the_live_view(self, capsys: pytest.CaptureFixture[str]) -> None:
        LiveView("job").notice(EVIL)
        assert capsys.readouterr().err == SHOWN + "\n"

    def test_errors_and_tables_of_commands(self, capsys: pytest.CaptureFixture[str]) -> None:
        print_error(EVIL, 1, as_json=False)
        print_table(["Exception"], [[EVIL]])
        shown = capsys.readouterr()
        assert shown.err == f"error: {SHOWN}\n"
        assert SHOWN in shown.out

    def test_errors_that_end_a_program(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(program_errors.RUN_REPORT, "/dev/null")
        output = io.StringIO()
        with contextlib.redirect_stderr(output):
            program_errors.show_error(InvalidProgramError, InvalidProgramError(EVIL), None)
        assert output.getvalue() == f"error: {SHOWN}\n"

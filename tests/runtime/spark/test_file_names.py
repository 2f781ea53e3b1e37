"""Files with any letters in their names, whatever the locale in which a program is started."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest

from rekindle.runtime.spark.file_names import letters_in_file_names, warn_of_lost_letters

VARIABLES = ("LC_ALL", "LC_CTYPE", "LANG")


@pytest.mark.parametrize(
    ("chosen", "for_the_jvm"),
    [
        ({}, "C.UTF-8"),
        ({"LC_ALL": "C"}, "C.UTF-8"),
        ({"LC_ALL": "", "LANG": "POSIX"}, "C.UTF-8"),
        ({"LC_ALL": "C", "LANG": "de_CH.UTF-8"}, "C.UTF-8"),
        ({"LANG": "de_CH.UTF-8"}, None),
        ({"LC_CTYPE": "C.UTF-8"}, None),
        ({"LC_ALL": "de_CH.ISO-8859-1"}, "de_CH.ISO-8859-1"),
    ],
)
def test_the_jvm_knows_all_letters_unless_somebody_has_chosen_a_locale(
    monkeypatch: pytest.MonkeyPatch, chosen: dict[str, str], for_the_jvm: str | None
) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in chosen.items():
        monkeypatch.setenv(name, value)
    with letters_in_file_names():
        assert os.environ.get("LC_ALL") == for_the_jvm
    assert {name: os.environ[name] for name in VARIABLES if name in os.environ} == chosen


def jvm(encoding: str) -> Any:
    system = SimpleNamespace(getProperty={"sun.jnu.encoding": encoding}.get)
    return SimpleNamespace(java=SimpleNamespace(lang=SimpleNamespace(System=system)))


def test_a_jvm_that_knows_only_ascii_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    for application, encoding in (("1", "ANSI_X3.4-1968"), ("1", "ANSI_X3.4-1968"), ("2", "UTF-8")):
        warn_of_lost_letters(jvm(encoding), application)
    (record,) = caplog.records
    assert "start it with LC_ALL=C.UTF-8" in record.getMessage()

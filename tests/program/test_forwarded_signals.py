"""A signal is passed on under another number to a program that listens to it, and to no other."""

from __future__ import annotations

import os
import signal

import pytest

from rekindle.program.forwarded_signals import FORWARDED, forwarded_number


@pytest.mark.parametrize("meaning", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_the_number_is_that_which_the_process_listens_to(meaning: signal.Signals) -> None:
    (number,) = [number for number, each in FORWARDED.items() if each is meaning]
    signal.signal(number, signal.SIG_DFL)  # jobs of other tests may have listened in this process
    assert forwarded_number(os.getpid(), meaning) is None
    signal.signal(number, lambda number, frame: None)
    try:
        assert forwarded_number(os.getpid(), meaning) == number
    finally:
        signal.signal(number, signal.SIG_DFL)
    assert forwarded_number(os.getpid(), meaning) is None


def test_a_process_that_is_gone_listens_to_nothing() -> None:
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    assert forwarded_number(child, signal.SIGTERM) is None

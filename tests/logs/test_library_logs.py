"""What libraries log about themselves stays out of a program's own output."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from rekindle.logs.library_logs import show_only_warnings_of


@pytest.fixture
def library() -> Iterator[logging.Logger]:
    logger = logging.getLogger("some.library")
    yield logger
    logger.setLevel(logging.NOTSET)


@pytest.mark.parametrize(("asked_for", "level"), [(logging.NOTSET, logging.WARNING), (logging.DEBUG, logging.DEBUG)])
def test_a_library_is_quiet_unless_the_program_wants_to_hear_it(
    library: logging.Logger, asked_for: int, level: int
) -> None:
    library.setLevel(asked_for)
    show_only_warnings_of("some.library")
    assert library.level == level

"""What Spark's connection to Java logs stays out of a program's own output."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from rekindle.runtime.spark.session import quieten_py4j


@pytest.fixture
def py4j() -> Iterator[logging.Logger]:
    logger = logging.getLogger("py4j")
    before = logger.level
    yield logger
    logger.setLevel(before)


@pytest.mark.parametrize(("asked_for", "level"), [(logging.NOTSET, logging.WARNING), (logging.DEBUG, logging.DEBUG)])
def test_py4j_is_quiet_unless_the_program_wants_to_hear_it(py4j: logging.Logger, asked_for: int, level: int) -> None:
    py4j.setLevel(asked_for)
    quieten_py4j()
    assert py4j.level == level

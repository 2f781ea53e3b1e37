"""Records of many megabytes on Spark, with a JVM that has room for a part of them only."""

from __future__ import annotations

import re

import pytest

from support.driver import driver


@pytest.mark.spark
def test_70_values_of_10_megabytes_pass_through_an_exchange_in_bounded_memory() -> None:
    with driver("large_records.py", "70", "10000000", "512m") as running:
        assert running.wait(400) == 0
        said = re.search(r"all 70 arrived; a slot took (\d+) MB", running.output())
        assert said is not None
        assert int(said[1]) < 700, "a slot holds a few at a time"
        running.assert_nothing_is_left()

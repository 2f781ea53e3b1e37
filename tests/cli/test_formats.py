"""How times, durations and sizes are written."""

from __future__ import annotations

import pytest

from rekindle.cli import formats


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1500, "1.5 s"),
        (90_000, "1 min 30 s"),
        (2 * 3_600_000 + 5 * 60_000, "2 h 5 min"),
        (49 * 3_600_000, "2 d 1 h"),
        (None, "-"),
        (-1, "-"),
    ],
)
def test_durations(milliseconds: int | None, text: str) -> None:
    assert formats.duration(milliseconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1536, "1.5 KiB"),
        (5 << 30, "5.0 GiB"),
        (3 << 50, "3072.0 TiB"),
        (None, "-"),
        (-1, "-"),
    ],
)
def test_sizes(count: int | None, text: str) -> None:
    assert formats.size(count) == text


def test_what_is_not_known_is_a_dash() -> None:
    assert (formats.moment(None), formats.moment(-1), formats.number(None), formats.number(0)) == ("-", "-", "-", "0")

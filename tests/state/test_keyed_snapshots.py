"""Snapshots of keyed state: what an operator adds to those of its backend."""

from __future__ import annotations

from rekindle.state.blocks import RAW, TIMERS, KeyGroupBlock
from rekindle.state.snapshots import KeyedSnapshot


def block(kind: str) -> KeyGroupBlock:
    return KeyGroupBlock("state", kind, 0, 1, b"")


def test_blocks_of_an_operator_follow_those_of_the_backend_and_each_is_checked_by_its_own() -> None:
    checked: list[tuple[str, str]] = []
    released: list[int] = []
    managed = KeyedSnapshot(
        blocks=lambda: iter([block("value")]),
        entries=5,
        delta=True,
        check=lambda b: checked.append(("backend", b.kind)),
        release=lambda: released.append(1),
    )
    timers = managed.followed_by(TIMERS, lambda: iter([block(TIMERS)]), 2, lambda b: checked.append(("timers", b.kind)))
    everything = timers.followed_by(RAW, lambda: iter([block(RAW)]))
    for _ in range(2):
        assert [each.kind for each in everything.blocks()] == ["value", TIMERS, RAW]
    for each in everything.blocks():
        everything.check(each)
    assert checked == [("backend", "value"), ("timers", TIMERS)]
    everything.release()
    assert (everything.entries, everything.delta, released) == (7, True, [1])

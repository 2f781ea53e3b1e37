"""Compares what the demonstration wrote with the truth, computed in plain Python."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass

from rekindle.demo.job import payment


@dataclass(frozen=True, slots=True)
class Verdict:
    """Count what went in, what came out, and what is wrong with it."""

    events: int
    written: int
    lost: int
    duplicated: int
    wrong_balances: int

    @property
    def exactly_once(self) -> bool:
        """Return whether every event was counted once, and only once."""
        return not (self.lost or self.duplicated or self.wrong_balances) and self.events == self.written


def verify(events: int, output: str) -> Verdict:
    """Read all finished files. Every payment of a user must be there once, and the last balance must be right.

    Payments of one user come from two source subtasks, in no fixed order between them: so the numbers 1 … n of a user's
    payments must each be there once, and the balance at n must be the sum of all of them.
    """
    expected_count: Counter[str] = Counter()
    expected_total: Counter[str] = Counter()
    for event in range(1, events + 1):
        user, amount = payment(event)
        expected_count[user] += 1
        expected_total[user] += amount
    written: Counter[tuple[str, int]] = Counter()
    last: dict[str, tuple[int, int]] = {}
    for line in _lines(output):
        user, count, total = line.split(",")
        written[user, int(count)] += 1
        last[user] = max(last.get(user, (0, 0)), (int(count), int(total)))
    expected = Counter({(user, n): 1 for user, count in expected_count.items() for n in range(1, count + 1)})
    wrong = sum(last.get(user) != (count, expected_total[user]) for user, count in expected_count.items())
    return Verdict(
        events=events,
        written=written.total(),
        lost=(expected - written).total(),
        duplicated=(written - expected).total(),
        wrong_balances=wrong,
    )


def _lines(output: str) -> list[str]:
    lines: list[str] = []
    for name in sorted(os.listdir(output)):
        if not name.startswith("."):
            with open(os.path.join(output, name), encoding="utf-8") as file:
                lines += file.read().splitlines()
    return lines

"""The seed of every test that draws at random: fixed, so that two runs are the same, unless ``SEED`` names another.

``make test SEED=random`` draws one and prints it; ``SEED=123 pytest …`` uses it again. With a seed that was named, some
tests with random histories run more of them.
"""

from __future__ import annotations

import os
import random

NAMED = bool(os.environ.get("SEED"))
SEED = int(os.environ.get("SEED") or 0)


def rounds(count: int, named: int) -> int:
    """Return how often a test repeats itself: ``count`` times, ``named`` times with a seed that was named."""
    return named if NAMED else count


def seeds(count: int, named: int | None = None) -> range:
    """Return the seeds of a test that runs once for each, as many as ``rounds`` says."""
    return range(SEED, SEED + rounds(count, count if named is None else named))


def seeded() -> random.Random:
    """Make a source of random numbers; pytest shows the seed if the test fails."""
    print("seed", SEED)
    return random.Random(SEED)

"""The seed of a test run: always the same, unless the variable ``SEED`` says otherwise.

``make test SEED=random`` draws one, and ``make test SEED=123`` repeats a run that failed.
"""

from __future__ import annotations

import os
import random

_GIVEN = os.environ.get("SEED", "1")
SEED = random.randrange(1 << 32) if _GIVEN == "random" else int(_GIVEN)


def seeded() -> random.Random:
    """Make a source of random numbers; pytest shows the seed if the test fails."""
    print("seed", SEED)
    return random.Random(SEED)

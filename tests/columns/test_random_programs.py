"""Programs drawn at random, in source code as people write it, give with columns what they give without.

Results to the bit, their order, errors with what they say, and the state behind each table are compared; some programs
are stopped with a savepoint in the middle and go on on the other path. ``COLUMN_PROGRAMS=20000`` draws more of them,
``SEED`` others.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from support.column_comparison import difference
from support.random_column_programs import random_program
from support.seeds import SEED

PROGRAMS = int(os.environ.get("COLUMN_PROGRAMS") or 1_000)
_PARTS = 4


@pytest.mark.parametrize("part", range(_PARTS))
def test_columns_give_what_records_give(part: int, tmp_path: Path) -> None:
    ran: Counter[str] = Counter()
    found = []
    for number in range(part, PROGRAMS, _PARTS):
        program = random_program(f"{SEED}.{number}")
        different = difference(program, tmp_path, ran)
        if different is not None:
            found.append(f"--- seed {program.seed}, {program.traits}\n{different}\n{program.source}")
    print(dict(ran))
    assert not found, f"{len(found)} of {ran['programs']} programs:\n" + "\n".join(found[:3])
    assert ran["by columns"] > 0.35 * ran["programs"], "most programs prove something"
    assert ran["failed"] < 0.2 * ran["programs"]
    for path in ("chain", "combined", "fold", "window", "gone on"):
        assert ran[path], f"no program ran by the path {path!r}"

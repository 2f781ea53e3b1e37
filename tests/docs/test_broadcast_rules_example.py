"""The example of the broadcast state pattern runs as it stands and finds what a search by hand finds."""

from __future__ import annotations

import ast
import subprocess
import sys
from itertools import combinations
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[2] / "examples" / "broadcast_rules.py"


def literal_lists() -> list[list[tuple[str, ...]]]:
    """Give the items and the rules that stand in the program."""
    calls = [node for node in ast.walk(ast.parse(PROGRAM.read_text())) if isinstance(node, ast.Call)]
    from_collection = [c for c in calls if isinstance(c.func, ast.Attribute) and c.func.attr == "from_collection"]
    return [ast.literal_eval(call.args[0]) for call in sorted(from_collection, key=lambda call: call.lineno)]


def test_every_pair_of_shapes_that_a_rule_wants_is_found_once() -> None:
    items, rules = literal_lists()
    expected = [
        f"{name}: a {colour} {first}, then a {colour} {then}"
        for name, first, then in rules
        for (colour, before), (other, after) in combinations(items, 2)
        if colour == other and (before, after) == (first, then)
    ]
    run = subprocess.run([sys.executable, str(PROGRAM)], capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stderr
    assert sorted(line.split("> ", 1)[1] for line in run.stdout.splitlines()) == sorted(expected)
    assert len(expected) == 4

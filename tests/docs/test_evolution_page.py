"""What docs/evolution.md says against what happens."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from rekindle.common.typeinfo import Types
from rekindle.serialization import AvroSerializer
from rekindle.testing import check_evolution, serializer_snapshot
from rekindle.types.compatibility import Outcome
from support.versioned_classes import Versions, versioned_classes

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "evolution.md"
EXAMPLE = ROOT / "examples" / "custom_serializer.py"
AS_IS, RECONFIGURED, MIGRATION, INCOMPATIBLE = Outcome


@pytest.fixture
def versions() -> Iterator[Versions]:
    with versioned_classes() as classes:
        yield classes


def test_the_serializer_on_the_page_is_the_example() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert EXAMPLE.read_text() in blocks


def test_the_kinds_of_snapshots_on_the_page_are_in_the_example() -> None:
    example = (ROOT / "examples" / "composite_serializers.py").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    (block,) = [block for block in blocks if "SimpleTypeSerializerSnapshot)" in block]
    for part in block.split("\n\n\n"):
        assert part.strip() in example


def test_the_example_runs_as_it_stands() -> None:
    run = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == [
        "compatible as is",
        "compatible after migration: numbers had 2 decimals and have 4 now",
        "incompatible: numbers had 4 decimals and have 2 now",
        "incompatible: it was DOUBLE",
    ]


FIELDS: list[tuple[str, list[Any], list[Any], Outcome, Outcome]] = [
    ("added", [("a", int)], [("a", int), ("b", str, "x")], MIGRATION, MIGRATION),
    ("added without default", [("a", int)], [("a", int), ("b", str)], MIGRATION, INCOMPATIBLE),
    ("removed", [("a", int), ("b", str)], [("a", int)], MIGRATION, MIGRATION),
    ("reordered", [("a", int), ("b", str)], [("b", str), ("a", int)], RECONFIGURED, MIGRATION),
    ("optional", [("a", int)], [("a", int | None)], AS_IS, MIGRATION),
    ("no longer optional", [("a", int | None)], [("a", int)], AS_IS, INCOMPATIBLE),
    ("wider", [("a", int)], [("a", float)], INCOMPATIBLE, MIGRATION),
    ("text or bytes", [("a", str)], [("a", bytes)], INCOMPATIBLE, MIGRATION),
    ("other type", [("a", str)], [("a", int)], INCOMPATIBLE, INCOMPATIBLE),
    ("other default", [("a", int, 1)], [("a", int, 2)], AS_IS, AS_IS),
]


@pytest.mark.parametrize(
    ("old", "new", "of_class", "of_avro"), [row[1:] for row in FIELDS], ids=[row[0] for row in FIELDS]
)
def test_fields_evolve_as_the_table_says(
    versions: Versions, old: list[Any], new: list[Any], of_class: Outcome, of_avro: Outcome
) -> None:
    before = versions.dataclass("User", old)
    stored, stored_avro = serializer_snapshot(before), serializer_snapshot(AvroSerializer.of(before))
    now = versions.dataclass("User", new)
    assert check_evolution(stored, now).outcome is of_class
    assert check_evolution(stored_avro, AvroSerializer.of(now)).outcome is of_avro
    stored = serializer_snapshot(versions.struct("User", old))
    assert check_evolution(stored, versions.struct("User", new)).outcome is of_class


def test_enums_evolve_as_the_table_says(versions: Versions) -> None:
    def version(**members: int) -> Any:
        cls: Any = Enum("Color", members, module=versions.module.__name__)
        versions.module.Color = cls  # type: ignore[attr-defined]
        return cls

    stored = serializer_snapshot(version(RED=1, BLUE=2))
    assert check_evolution(stored, version(GREEN=2, BLUE=3, RED=4)).outcome is AS_IS
    assert check_evolution(stored, version(RED=1)).outcome is INCOMPATIBLE
    assert check_evolution(stored, version(CRIMSON=1, RED=1, BLUE=2)).outcome is AS_IS


@pytest.mark.parametrize(
    ("old", "new", "outcome"),
    [
        (Types.TUPLE([Types.INT()]), Types.TUPLE([Types.INT(), Types.INT()]), INCOMPATIBLE),
        (Types.ROW([Types.INT()]), Types.ROW([Types.STRING()]), INCOMPATIBLE),
        (Types.ROW_NAMED(["a"], [Types.INT()]), Types.ROW_NAMED(["b"], [Types.INT()]), AS_IS),
        (list[int], list[str], INCOMPATIBLE),
        (Types.INT(), Types.LONG(), INCOMPATIBLE),
        (float, float | None, INCOMPATIBLE),
        (Types.PICKLED_BYTE_ARRAY(), int, INCOMPATIBLE),
        (int, Types.PICKLED_BYTE_ARRAY(), INCOMPATIBLE),
    ],
)
def test_other_types_evolve_as_the_table_says(old: Any, new: Any, outcome: Outcome) -> None:
    assert check_evolution(old, new).outcome is outcome


def test_every_public_serializer_of_other_serializers_is_on_the_page() -> None:
    from rekindle.common import Types
    from rekindle.serialization import NullableSerializer
    from rekindle.serialization.serializer_of import serializer_of

    page = (Path(__file__).parents[2] / "docs" / "evolution.md").read_text()
    assert "`NullableSerializer.wrap(serializer)`" in page
    numbers = NullableSerializer.wrap(serializer_of(Types.LONG()))
    assert numbers.from_bytes(numbers.to_bytes(None)) is None
    assert NullableSerializer.wrap(numbers) is numbers

"""State whose type is only known from annotations: it evolves where values keep the promise, and loses nothing else."""

from __future__ import annotations

import datetime
import pickle
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest

from rekindle.exceptions import SerializationError
from rekindle.serialization import PickleSerializer
from rekindle.serialization.classes.dataclass_serializer import DataclassSerializer
from rekindle.serialization.classes.enum_serializer import EnumSerializer
from rekindle.serialization.snapshots.stored_snapshot import snapshot_from_bytes, snapshot_to_bytes
from rekindle.serialization.untyped.hinted_serializer import HintedSerializer, hinted_serializer
from rekindle.types.compatibility import Outcome
from rekindle.types.type_serializer import TypeSerializer


class Colour(Enum):
    RED = 1


@dataclass
class Part:
    weight: float


@dataclass
class Item:
    name: str
    count: int = 0
    price: Decimal | None = None
    colour: Colour = Colour.RED
    parts: list[Part] = field(default_factory=list)
    notes: dict[str, int] = field(default_factory=dict)
    made: datetime.date | None = None
    sold: datetime.datetime | None = None
    anything: Any = None


@dataclass
class SpecialItem(Item):
    extra: int = 1


@dataclass
class Entry:
    pairs: set[int]


TYPED, PICKLED = b"\1", b"\0"
ITEMS = HintedSerializer(DataclassSerializer(Item))


def with_attribute(item: Item) -> Item:
    item.unknown = 5  # type: ignore[attr-defined]
    return item


class More(str):
    """A string that is more than one."""


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Item("a"), TYPED),
        (Item("a", 2**80, Decimal("1.10"), Colour.RED, [Part(1.0), None], {"a": 1}), TYPED),  # type: ignore[list-item]
        (Item("a", made=datetime.date(2024, 1, 2), sold=datetime.datetime(2024, 1, 2, 3)), TYPED),
        (Item("a", anything=(1, {2})), TYPED),
        (Item(None), TYPED),  # type: ignore[arg-type]
        (Item("a", count=True), PICKLED),
        (Item("a", count=1.0), PICKLED),  # type: ignore[arg-type]
        (Item(More("a")), PICKLED),
        (Item("a", parts=[Part(1)]), PICKLED),
        (Item("a", parts=(Part(1.0),)), PICKLED),  # type: ignore[arg-type]
        (Item("a", notes={"a": 1.0}), PICKLED),  # type: ignore[dict-item]
        (Item("a", sold=datetime.datetime(2024, 1, 2, tzinfo=datetime.UTC)), PICKLED),
        (Item("a", colour=1), PICKLED),  # type: ignore[arg-type]
        (with_attribute(Item("a")), PICKLED),
        (SpecialItem("a"), PICKLED),
        ("no item", PICKLED),
        (None, PICKLED),
    ],
    ids=str,
)
def test_values_come_back_exactly_and_are_pickled_where_their_class_would_change_them(
    value: Any, written: bytes
) -> None:
    data = ITEMS.to_bytes(value)
    assert data[:1] == written
    for given in (data, memoryview(data)):
        back = ITEMS.from_bytes(given)
        assert back == value
        assert repr(back) == repr(value)
        assert getattr(back, "__dict__", None) == getattr(value, "__dict__", None)
    assert list(map(repr, ITEMS.all_from_bytes(ITEMS.all_to_bytes([value] * 3)))) == [repr(value)] * 3


def test_a_snapshot_reads_what_was_written_both_ways() -> None:
    restored = snapshot_from_bytes(snapshot_to_bytes(ITEMS.snapshot_configuration())).restore_serializer()
    assert restored == ITEMS
    for value in (Item("a", 1), SpecialItem("b")):
        assert restored.from_bytes(ITEMS.to_bytes(value)) == value


@pytest.mark.parametrize("values", [[Item("a", 1), Item("b", 2)], [Item("a", 1), SpecialItem("b"), 3], []])
def test_many_values_are_written_by_their_type_or_each_in_its_own_way(values: list[Any]) -> None:
    """All of one type go together; what an older version wrote, each with a byte of its own, is read as well."""
    one_by_one = TypeSerializer.all_to_bytes(ITEMS, values)
    assert ITEMS.all_from_bytes(one_by_one) == values
    together = ITEMS.all_to_bytes(values)
    assert ITEMS.all_from_bytes(together) == values
    assert (together != one_by_one) is all(type(value) is Item for value in values)


def outcome(new: Any, old: Any) -> Outcome:
    result: Outcome = new.snapshot_configuration().resolve_schema_compatibility(old.snapshot_configuration()).outcome
    return result


def test_an_annotation_can_be_added_and_removed_without_loss_of_state() -> None:
    assert outcome(ITEMS, ITEMS) is Outcome.AS_IS
    assert outcome(ITEMS, PickleSerializer()) is Outcome.AFTER_MIGRATION
    assert outcome(PickleSerializer(), ITEMS) is Outcome.AFTER_MIGRATION


def test_the_annotated_class_evolves_by_its_own_rules() -> None:
    assert outcome(ITEMS, ITEMS) is Outcome.AS_IS
    assert outcome(ITEMS, HintedSerializer(DataclassSerializer(Item, DataclassSerializer(Item).layout[:2]))) is (
        Outcome.AFTER_MIGRATION
    )


def test_an_annotation_may_be_corrected_and_become_a_declared_type_or_the_other_way_round() -> None:
    colours = HintedSerializer(EnumSerializer(Colour))
    assert outcome(ITEMS, colours) is Outcome.AFTER_MIGRATION
    assert outcome(ITEMS, DataclassSerializer(Item)) is Outcome.AFTER_MIGRATION
    assert outcome(DataclassSerializer(Item), ITEMS) is Outcome.AFTER_MIGRATION
    assert outcome(colours, EnumSerializer(Colour)) is Outcome.AFTER_MIGRATION
    assert outcome(EnumSerializer(Colour), ITEMS) is Outcome.INCOMPATIBLE


def test_text_that_is_none_is_pickled() -> None:
    item = Item("\ud800", 1)
    assert ITEMS.to_bytes(item)[:1] == PICKLED
    assert ITEMS.from_bytes(ITEMS.to_bytes(item)) == item


def test_fields_added_since_an_instance_was_pickled_start_as_they_do_in_migrated_state() -> None:
    item = Item("x", count=True)  # no int, so it is pickled
    del item.notes
    assert ITEMS.from_bytes(PICKLED + pickle.dumps(item, 5)) == Item("x", count=True, notes={})


def test_only_classes_that_evolve_and_can_be_kept_exactly_are_worth_it() -> None:
    @dataclass
    class Local:
        name: str

    assert hinted_serializer(DataclassSerializer(Item), Item) == ITEMS
    assert hinted_serializer(EnumSerializer(Colour), Colour) is not None
    assert hinted_serializer(DataclassSerializer(Local), Local) is None
    assert hinted_serializer(DataclassSerializer(Entry), Entry) is None
    assert hinted_serializer(PickleSerializer(), str) is None


def test_damaged_bytes_raise() -> None:
    with pytest.raises(SerializationError):
        ITEMS.from_bytes(TYPED + b"\xc1")

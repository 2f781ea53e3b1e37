"""What a program of today cannot read, or does not ask for: refused in words, or kept as it is."""

from __future__ import annotations

import datetime
import decimal
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rekindle.common import Types
from rekindle.common.time import Instant
from rekindle.contracts.key_groups import KeyGroupRange
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.exceptions import SerializerSnapshotError, StateMigrationException
from rekindle.serialization import SimpleTypeSerializerSnapshot, register_snapshot_alias
from rekindle.serialization.scalars.integer_serializers import IntSerializer
from rekindle.serialization.snapshots import snapshot_aliases
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.rocksdb.settings import RocksDBSettings
from rekindle.testing import BackendUnderTest, ManualClock, take_snapshot
from rekindle.types.type_serializer import TypeSerializer
from support.evolution_jobs import (
    KEYED,
    OPERATOR,
    OPERATOR_STATES,
    UID,
    Everything,
    RunningProgram,
    held,
    held_by_operator,
    stored_serializers,
)
from support.evolution_serializers import WordSerializer, at_top_level, pairs_1, pairs_2, words_1, words_2
from support.versioned_classes import MODULE, Versions, versioned_classes

HEAP = BackendSettings()
ROCKSDB = BackendSettings(RocksDBSettings(), incremental=True)
BACKENDS = pytest.mark.parametrize("backend", [HEAP, ROCKSDB], ids=["heap", "RocksDB"])
VALUES = ["ada", "bob"]


@pytest.fixture
def versions() -> Iterator[Versions]:
    with versioned_classes() as classes:
        yield classes


def written(kind: Any, directory: Path, backend: BackendSettings = HEAP, values: list[Any] = VALUES) -> Any:
    """Run a program of yesterday; give a savepoint and a checkpoint."""
    with RunningProgram(Everything(kind), directory, backend) as program:
        program.put_keyed("key", values)
        program.put_operator(values)
        return program.savepoint(), program.checkpoint()


def refusals(kind: Any, savepoint: Any, directory: Path) -> dict[str, str]:
    """Say, by the names of the states, why a program is refused that asks for them."""
    found = {}
    for name in (*KEYED, *OPERATOR_STATES):
        with pytest.raises(SerializerSnapshotError) as caught:
            RunningProgram(Everything(kind, asks=(name,)), directory, HEAP, savepoint)
        found[name] = str(caught.value)
    for name, text in found.items():
        assert f"state {name!r} of operator {OPERATOR!r} (uid {UID!r}) cannot be" in text
    return found


# --- snapshots that cannot be read ---


def test_a_snapshot_whose_class_is_gone_is_named(versions: Versions, tmp_path: Path) -> None:
    savepoint, _ = written(words_1(versions, "-"), tmp_path / "a")
    versions.remove("WordSnapshot")
    for text in refusals(str, savepoint, tmp_path / "b").values():
        assert f"{MODULE}:WordSnapshot and there is no such class any more" in text
        assert "register_snapshot_alias" in text


def test_a_snapshot_whose_class_was_renamed_is_found_by_its_alias(
    versions: Versions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_aliases, "_ALIASES", {})
    savepoint, _ = written(words_1(versions, "-"), tmp_path / "a")
    serializer = words_2(versions, "-")
    cls = serializer.snapshot_class
    versions.remove("WordSnapshot")
    cls.__name__ = cls.__qualname__ = "Renamed"
    at_top_level(versions, cls)
    register_snapshot_alias(f"{MODULE}:WordSnapshot", cls)
    with RunningProgram(Everything(serializer), tmp_path / "b", HEAP, savepoint) as program:
        assert program.keyed("key") == held(VALUES)
        assert program.operator_states() == held_by_operator(VALUES)
        found = stored_serializers(program.savepoint())
    assert all(b"Renamed" in stored and b"WordSnapshot" not in stored for (stored,) in found.values())


def test_a_snapshot_of_a_newer_version_is_refused(versions: Versions, tmp_path: Path) -> None:
    savepoint, _ = written(words_2(versions, "-"), tmp_path / "a")
    for text in refusals(words_1(versions, "-"), savepoint, tmp_path / "b").values():
        assert "is of version 2, and the class here reads versions up to 1: a newer program wrote it" in text


def test_an_outer_snapshot_of_a_newer_version_is_refused(versions: Versions, tmp_path: Path) -> None:
    words = words_1(versions, "-")
    new, old = (make(versions, words, IntSerializer()) for make in (pairs_2, pairs_1))
    at_top_level(versions, new.snapshot_class)
    savepoint, _ = written(new, tmp_path / "a", values=[("ada", 1), ("bob", 2)])
    at_top_level(versions, old.snapshot_class)
    for text in refusals(old, savepoint, tmp_path / "b").values():
        assert "version 2, and the class here reads versions up to 1: a newer program wrote it" in text


class Holder:
    """A class around a class."""

    class NestedSnapshot(SimpleTypeSerializerSnapshot[str]):
        """Could not be found."""

        def __init__(self) -> None:
            super().__init__(lambda: WordSerializer(Holder.NestedSnapshot, "-"))


class NeedsArguments(SimpleTypeSerializerSnapshot[str]):
    """Could not be made."""

    def __init__(self, argument: str) -> None:
        super().__init__(lambda: WordSerializer(NeedsArguments, argument))


def local_snapshot() -> type[Any]:
    class LocalSnapshot(SimpleTypeSerializerSnapshot[str]):
        def __init__(self) -> None:
            super().__init__(lambda: WordSerializer(LocalSnapshot, "-"))

    return LocalSnapshot


class PlainWords(TypeSerializer[str]):
    """Serialize strings, with a snapshot that is given."""

    def __init__(self, snapshot: Any) -> None:
        self.snapshot = snapshot

    def serialize(self, element: str, stream: Any) -> None:
        stream.write_utf(element)

    def deserialize(self, stream: Any) -> str:
        text: str = stream.read_utf()
        return text

    def snapshot_configuration(self) -> Any:
        return self.snapshot


@BACKENDS
@pytest.mark.parametrize(
    ("snapshot", "words"),
    [
        (Holder.NestedSnapshot(), "Holder.NestedSnapshot .* is defined inside another class"),
        (local_snapshot()(), "LocalSnapshot .* is defined inside a function"),
        (NeedsArguments("-"), "NeedsArguments .* has no constructor without arguments"),
    ],
    ids=["nested", "local", "needs arguments"],
)
def test_a_snapshot_that_nobody_could_read_back_is_refused_when_the_state_is_asked_for(
    snapshot: Any, words: str, backend: BackendSettings, tmp_path: Path
) -> None:
    for name in KEYED:
        with pytest.raises(SerializerSnapshotError, match=rf"state '{name}' of operator .*{words}"):
            RunningProgram(Everything(PlainWords(snapshot), asks=(name,)), tmp_path / name, backend)


# --- classes that are gone ---


def test_a_class_that_is_gone_is_named_beside_the_one_that_took_its_place(versions: Versions, tmp_path: Path) -> None:
    old = versions.dataclass("User", [("name", str)])
    savepoint, _ = written(old, tmp_path / "a", values=[old("ada"), old("bob")])
    versions.remove("User")
    new = versions.dataclass("Person", [("name", str)])
    for name in (*KEYED, *OPERATOR_STATES):
        with pytest.raises(StateMigrationException, match=rf"the class was {MODULE}.User and is {MODULE}.Person now"):
            RunningProgram(Everything(new, asks=(name,)), tmp_path / "b", HEAP, savepoint)


@BACKENDS
def test_a_field_may_be_removed_together_with_its_class(
    versions: Versions, backend: BackendSettings, tmp_path: Path
) -> None:
    address = versions.dataclass("Address", [("street", str)])
    old = versions.dataclass("User", [("name", str), ("address", address)])
    stored = written(old, tmp_path / "a", backend, [old("ada", address("Long Lane")), old("bob", None)])
    versions.remove("Address")
    new = versions.dataclass("User", [("name", str)])
    for number, each in enumerate(stored):
        with RunningProgram(Everything(new), tmp_path / f"b-{number}", backend, each) as program:
            assert program.keyed("key") == held([new("ada"), new("bob")])
            assert program.operator_states() == held_by_operator([new("ada"), new("bob")])


# --- state that nobody asks for ---


@BACKENDS
@pytest.mark.parametrize("gone", [False, True], ids=["its class is there", "its class is gone"])
def test_state_that_a_program_does_not_ask_for_is_there_for_the_next_that_does(
    versions: Versions, backend: BackendSettings, gone: bool, tmp_path: Path
) -> None:
    user = versions.dataclass("User", [("name", str), ("age", int)])
    values = [user("ada", 36), user("bob", 2)]
    stored = written(user, tmp_path / "a", backend, values)
    before = stored_serializers(stored[0])
    if gone:
        versions.remove("User")
    again = []
    for number, each in enumerate(stored):
        with RunningProgram(Everything(str, asks=()), tmp_path / f"b-{number}", backend, each) as program:
            again += [program.savepoint(), program.checkpoint()]
            assert stored_serializers(again[-2]) == before
    versions.module.User = user  # type: ignore[attr-defined]
    for number, each in enumerate(again):
        for target in {"same": backend, "heap": HEAP}.values():
            with RunningProgram(Everything(user), tmp_path / f"c-{number}", target, each) as program:
                assert program.keyed("key") == held(values)
                assert program.operator_states() == held_by_operator(values)


# --- every basic type to every other ---

BASIC: dict[str, tuple[Any, Any]] = {
    "STRING": (Types.STRING(), "1"),
    "BYTE": (Types.BYTE(), 1),
    "BOOLEAN": (Types.BOOLEAN(), True),
    "SHORT": (Types.SHORT(), 1),
    "INT": (Types.INT(), 1),
    "LONG": (Types.LONG(), 1),
    "FLOAT": (Types.FLOAT(), 1.0),
    "DOUBLE": (Types.DOUBLE(), 1.0),
    "CHAR": (Types.CHAR(), "1"),
    "BIG_INT": (Types.BIG_INT(), 1),
    "BIG_DEC": (Types.BIG_DEC(), decimal.Decimal(1)),
    "INSTANT": (Types.INSTANT(), Instant(1, 1)),
    "SQL_DATE": (Types.SQL_DATE(), datetime.date(2020, 1, 1)),
    "SQL_TIME": (Types.SQL_TIME(), datetime.time(1)),
    "SQL_TIMESTAMP": (Types.SQL_TIMESTAMP(), datetime.datetime(2020, 1, 1)),
    "PRIMITIVE_ARRAY(BYTE)": (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"1"),
}


def test_no_basic_type_becomes_another() -> None:
    """Not even INT a LONG, whose bytes are the same: a program that goes back would cut what it reads."""
    heap, clock, groups = BackendUnderTest("heap"), ManualClock(), KeyGroupRange(0, 127)
    snapshots = {}
    for name, (kind, value) in BASIC.items():
        backend = heap.create(groups, 128, clock.now)
        backend.key = "key"
        backend.get_or_create(ValueStateDescriptor("v", kind)).update(value)  # type: ignore[attr-defined]
        snapshots[name] = take_snapshot(backend, 1)
    for old, new in itertools.product(BASIC, BASIC):
        backend = heap.restore([snapshots[old]], groups, 128, clock.now)
        descriptor = ValueStateDescriptor("v", BASIC[new][0])
        if old == new:
            state: Any = backend.get_or_create(descriptor)
            backend.key = "key"
            assert state.value() == BASIC[old][1]
            continue
        with pytest.raises(StateMigrationException) as caught:
            backend.get_or_create(descriptor)
        assert f"the type was {old} and is {new} now" in str(caught.value)
    heap.close()

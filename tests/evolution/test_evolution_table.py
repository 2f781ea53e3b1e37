"""State of a program of yesterday, restored by that of today: every change of a type, in every kind of state.

The rows are in ``support.evolution_changes``. A row is run on each backend, from a savepoint and from a checkpoint.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.common.annotations import as_type_info
from rekindle.exceptions import StateMigrationException
from rekindle.serialization.encodings.pickle_serializer import PickleSerializer
from rekindle.serialization.serializer_of import serializer_of
from rekindle.serialization.snapshots.stored_snapshot import snapshot_from_bytes, snapshot_to_bytes
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.rocksdb.settings import RocksDBSettings
from rekindle.types.compatibility import Outcome, TypeSerializerSchemaCompatibility
from rekindle.types.type_serializer import TypeSerializer
from support.evolution_changes import CHANGES, Change
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
from support.versioned_classes import Versions, versioned_classes

BACKENDS = {
    "heap": BackendSettings(incremental=True),
    "RocksDB": BackendSettings(RocksDBSettings(), incremental=True),
}
HEAP = BACKENDS["heap"]
FOLLOWED = [change for change in CHANGES if change.outcome is not Outcome.INCOMPATIBLE]
REFUSED = [change for change in CHANGES if change.outcome is Outcome.INCOMPATIBLE]


def runs(changes: list[Change], *names: str) -> Any:
    """Run each change on each backend."""
    each = [(change, name) for change in changes for name in names]
    ids = [f"{name}: {change.name}" for change, name in each]
    return pytest.mark.parametrize(("change", "backend"), [(change, BACKENDS[name]) for change, name in each], ids=ids)


def written_yesterday(
    change: Change, versions: Versions, directory: Path, backend: BackendSettings
) -> tuple[StoredCheckpoint, StoredCheckpoint]:
    """Run the program of yesterday; give a savepoint and a checkpoint of it, on the heap one with a base."""
    kind, values = change.before(versions)
    with RunningProgram(Everything(kind), directory, backend) as program:
        program.put_keyed("first", values)
        program.put_operator(values)
        if backend.rocksdb is None:
            program.checkpoint()
        program.put_keyed("second", values)
        checkpoint = program.checkpoint()
        return program.savepoint(), checkpoint


def serializer_for(kind: Any) -> TypeSerializer[Any]:
    return PickleSerializer() if kind is None else serializer_of(as_type_info(kind, "the type"))


def compared(stored: bytes, kind: Any) -> TypeSerializerSchemaCompatibility:
    """Return what is said of the type of a program and what is stored."""
    return serializer_for(kind).snapshot_configuration().resolve_schema_compatibility(snapshot_from_bytes(stored))


def written_by_today(before: bytes, kind: Any) -> bytes:
    """Return what must be stored of the serializer that goes on after a restore."""
    result = compared(before, kind)
    reconfigured = result.outcome is Outcome.RECONFIGURED
    serializer = result.get_reconfigured_serializer() if reconfigured else serializer_for(kind)
    return snapshot_to_bytes(serializer.snapshot_configuration())


@runs(FOLLOWED, "heap", "RocksDB")
def test_state_follows_and_is_wholly_of_the_new_type_in_the_next_savepoint(
    change: Change, backend: BackendSettings, tmp_path: Path
) -> None:
    with versioned_classes() as versions:
        savepoint, checkpoint = written_yesterday(change, versions, tmp_path / "yesterday", backend)
        kind, values = change.after(versions)
        before = stored_serializers(savepoint)
        assert set(before) == {*KEYED, *OPERATOR_STATES}
        different = {stored for found in before.values() for stored in found}
        assert {compared(stored, kind).outcome for stored in different} == {change.outcome}
        expected = {stored: written_by_today(stored, kind) for stored in different}
        for number, stored in enumerate((savepoint, checkpoint)):
            with RunningProgram(Everything(kind), tmp_path / f"today-{number}", backend, stored) as program:
                for key in ("first", "second"):
                    assert program.keyed(key) == held(values)
                assert program.operator_states() == held_by_operator(values)
                program.put_keyed("third", values)
                next_savepoint = program.savepoint()
            after = stored_serializers(next_savepoint)
            assert after == {name: {expected[stored] for stored in found} for name, found in before.items()}
            again = {compared(stored, kind).outcome for stored in set().union(*after.values())}
            reconfigured = change.outcome is Outcome.RECONFIGURED
            assert again == {Outcome.RECONFIGURED if reconfigured else Outcome.AS_IS}
        with RunningProgram(Everything(kind), tmp_path / "tomorrow", HEAP, next_savepoint) as program:
            for key in ("first", "second", "third"):
                assert program.keyed(key) == held(values)
            assert program.operator_states() == held_by_operator(values)


def assert_refused(error: StateMigrationException, change: Change, name: str) -> None:
    text = str(error)
    assert f"the type of state {name!r} of operator {OPERATOR!r} (uid {UID!r}) changed in a way" in text
    for words in change.words:
        assert words in text
    assert "Change it back" in text


@runs(REFUSED, "heap")
def test_state_that_cannot_follow_is_refused_in_words_and_stays(
    change: Change, backend: BackendSettings, tmp_path: Path
) -> None:
    with versioned_classes() as versions:
        savepoint, _ = written_yesterday(change, versions, tmp_path / "yesterday", backend)
        kind, _ = change.after(versions)
        for name in (*KEYED, *OPERATOR_STATES):
            with pytest.raises(StateMigrationException) as caught:
                RunningProgram(Everything(kind, asks=(name,)), tmp_path / "today", backend, savepoint)
            assert_refused(caught.value, change, name)
        with RunningProgram(Everything(kind, asks=()), tmp_path / "stays", backend, savepoint) as program:
            for name in KEYED:
                with pytest.raises(StateMigrationException):
                    program.ask_for_keyed(name)
            assert stored_serializers(program.savepoint()) == stored_serializers(savepoint)


@runs(REFUSED, "RocksDB")
def test_state_in_files_of_rocksdb_that_cannot_follow_is_refused_in_words_and_stays(
    change: Change, backend: BackendSettings, tmp_path: Path
) -> None:
    with versioned_classes() as versions:
        savepoint, checkpoint = written_yesterday(change, versions, tmp_path / "yesterday", backend)
        before = stored_serializers(savepoint)
        kind, _ = change.after(versions)
        with RunningProgram(Everything(kind, asks=()), tmp_path / "today", backend, checkpoint) as program:
            for name in KEYED:
                with pytest.raises(StateMigrationException) as caught:
                    program.ask_for_keyed(name)
                assert_refused(caught.value, change, name)
            next_savepoint = program.savepoint()
        assert stored_serializers(next_savepoint) == before
        old_kind, values = change.before(versions)
        with RunningProgram(Everything(old_kind), tmp_path / "back again", HEAP, next_savepoint) as program:
            for key in ("first", "second"):
                assert program.keyed(key) == held(values)
            assert program.operator_states() == held_by_operator(values)

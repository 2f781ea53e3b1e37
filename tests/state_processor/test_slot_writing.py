"""Files of new savepoints, written without Spark: what is carried over is as it was, what is new is found."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from rekindle.checkpoint.metadata import encode_metadata
from rekindle.checkpoint.restoring import RestorePath
from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.common import Time, Types
from rekindle.contracts.key_groups import subtask_of_key_group
from rekindle.datastream.state import StateTtlConfig, ValueStateDescriptor
from rekindle.exceptions import ConfigurationError
from rekindle.serialization import PickleSerializer
from rekindle.serialization.serializer_of import serializer_of
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.blocks import StateSpec
from rekindle.state.key_hash import key_group_of
from rekindle.state.kinds.state_kind import kind_of
from rekindle.state.rocksdb.settings import RocksDBSettings
from rekindle.state_processor.contents import contents_of
from rekindle.state_processor.new_metadata import metadata_of
from rekindle.state_processor.shipped_program import Program
from rekindle.state_processor.slot_writing import OperatorPlan, StateStep, WriteSlots
from rekindle.state_processor.snapshot import Snapshot
from support.snapshot_job import BACKENDS, COUNT, USERS, expected, restored_contents, take_snapshot

GOLDEN = {user: expected(user) for user in USERS}
NO_PROGRAM = Program((), pickle.dumps({}))


def written(directory: Path, source: Snapshot | None, plans: list[OperatorPlan], rows: list[Any] = []) -> Snapshot:  # noqa: B006
    """Write a savepoint; rows are (operator, step, key, value)."""
    slots = max(plan.parallelism for plan in plans)
    routed: list[list[Any]] = [[] for _ in range(slots)]
    for operator, step, key, value in rows:
        plan = plans[operator]
        group = key_group_of(key, plan.max_parallelism)
        slot = subtask_of_key_group(group, plan.parallelism, plan.max_parallelism)
        routed[slot].append((slot, operator, step, group, pickle.dumps([(key, value)])))
    task = WriteSlots(pickle.dumps(plans), str(directory), None if source is None else source.location, NO_PROGRAM)
    files = [task.write(slot, plans, sorted(routed[slot])) for slot in range(slots)]
    before = None if source is None else source.metadata
    carried = [] if before is None else before.operators
    modes = {o.uid: {name: state.mode for name, state in o.list_states.items()} for o in carried}
    metadata = metadata_of(before, plans, modes, files, [], 0)
    LocalCheckpointFiles(str(directory)).create("_metadata", encode_metadata(metadata))
    return Snapshot.open(str(directory))


def carried_over(source: Snapshot) -> list[OperatorPlan]:
    return [
        OperatorPlan(o.uid, o.name, o.parallelism, o.max_parallelism, PickleSerializer(), (), o.uid)
        for o in source.metadata.operators
    ]


@pytest.mark.parametrize("form", list(BACKENDS))
def test_a_copy_of_any_format_is_a_savepoint_of_its_own(tmp_path: Path, form: str) -> None:
    source = Snapshot(take_snapshot(tmp_path / "source", form))
    copy = written(tmp_path / "copy", source, carried_over(source))
    with contents_of(source) as before, contents_of(copy) as after:
        for uid in ("everything", "windows"):
            assert set(after.timers(uid)) == set(before.timers(uid))
        assert set(after.entries("windows", "_window-contents")) == set(before.entries("windows", "_window-contents"))
        assert list(after.items("everything", "seen")) == list(before.items("everything", "seen"))
    (tmp_path / "source").rename(tmp_path / "gone")  # the copy needs nothing of it
    (tmp_path / "copy").rename(tmp_path / "elsewhere")
    moved = RestorePath(str(tmp_path / "elsewhere")).current
    assert restored_contents(moved, 1) == GOLDEN
    assert restored_contents(moved, 5, BackendSettings(RocksDBSettings())) == GOLDEN


def step(descriptor: ValueStateDescriptor, ttl: bool = False) -> StateStep:
    return StateStep(StateSpec(descriptor.get_name(), kind_of(descriptor), ttl), descriptor, None, "whole")


def test_a_state_is_replaced_and_the_others_stay(tmp_path: Path) -> None:
    source = Snapshot(take_snapshot(tmp_path / "source", "rocksdb"))
    plans = [
        OperatorPlan(
            plan.uid,
            plan.name,
            plan.parallelism,
            plan.max_parallelism,
            serializer_of(Types.STRING()),
            (step(COUNT),) if plan.uid == "everything" else (),
            plan.uid,
            frozenset({"count"}) if plan.uid == "everything" else frozenset(),
        )
        for plan in carried_over(source)
    ]
    number = next(number for number, plan in enumerate(plans) if plan.uid == "everything")
    changed = written(tmp_path / "new", source, plans, [(number, 0, "ada", 1000), (number, 0, "dan", None)])
    counts = {"ada": 1000}  # what has no row has no value any more
    assert restored_contents(changed.stored, 3) == {user: {**GOLDEN[user], "count": counts.get(user)} for user in USERS}


def test_state_that_expires_counts_as_just_used(tmp_path: Path) -> None:
    expiring = ValueStateDescriptor("expiring", Types.LONG())
    expiring.enable_time_to_live(StateTtlConfig.new_builder(Time.days(1)).build())
    plan = OperatorPlan("op", "op", 2, 16, PickleSerializer(), (step(expiring, ttl=True),))
    made = written(tmp_path, None, [plan], [(0, 0, key, key) for key in range(10)])
    with contents_of(made) as contents:
        entries = list(contents.entries("op", "expiring"))
    assert {entry.key: entry.value for entry in entries} == {key: key for key in range(10)}
    assert all(entry.last_access > 1_600_000_000_000 for entry in entries)


def test_two_rows_for_one_value_are_refused(tmp_path: Path) -> None:
    plan = OperatorPlan("op", "op", 1, 16, PickleSerializer(), (step(COUNT),))
    with pytest.raises(ConfigurationError, match="two rows for the key 'a'"):
        written(tmp_path, None, [plan], [(0, 0, "a", 1), (0, 0, "a", 2)])


def test_a_state_without_rows_is_known(tmp_path: Path) -> None:
    plan = OperatorPlan("op", "op", 2, 16, PickleSerializer(), (step(COUNT),))
    made = written(tmp_path, None, [plan])
    assert made.operator("op").keyed_states == ["count"]

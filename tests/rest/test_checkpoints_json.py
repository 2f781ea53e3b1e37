"""Checkpoint statistics in Flink's JSON, next to what Flink 2.3 itself answered (recorded from a job of its own)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rekindle.checkpoint.coordinator import CheckpointCoordinator
from rekindle.checkpoint.events import CheckpointFailureReason
from rekindle.checkpoint.options import CheckpointOptions
from rekindle.checkpoint.slot_snapshot import OperatorSnapshot, SlotSnapshot
from rekindle.checkpoint.statistics import RestoredStatistics
from rekindle.common import Configuration, ExecutionConfig
from rekindle.datastream.checkpoint_config import CheckpointConfig
from rekindle.graph.vertex_ids import vertex_id
from rekindle.rest.checkpoints_json import checkpoint_config, checkpoint_details, checkpoint_subtasks, checkpoints
from rekindle.runtime.master.settings.job_settings import settle
from support.slot_snapshots import snapshot, stored

FLINK = json.loads((Path(__file__).parent / "data" / "flink-2.3-checkpoints.json").read_text())
SOURCE, COUNTER = "source", "counter"


def shape(value: Any) -> Any:
    """Return what must be alike: keys, in their order, and kinds of values. Numbers and "NaN" are one kind."""
    if isinstance(value, dict):
        return [(key, shape(each)) for key, each in value.items()]
    if isinstance(value, list):
        return [shape(each) for each in value[:1]]
    if isinstance(value, bool) or value is None:
        return type(value).__name__
    return "number" if isinstance(value, int | float) or value == "NaN" else "text"


def measured(slot: int, sync: int = 0, written: int = 0, state: int = 0) -> SlotSnapshot:
    """Return what a slot says: of the source, which is in the first, nothing but delays."""
    counter = OperatorSnapshot(COUNTER, [], {}, sync, 7, state, written)
    operators = (counter,) if slot else (OperatorSnapshot(SOURCE, [], {}), counter)
    return replace(snapshot(slot, "state", *operators), start_delay_ms=2, alignment_ms=3)


def complete(subject: CheckpointCoordinator, now: int, checkpoint_id: int, sync: int = 5, size: int = 100) -> None:
    subject.acknowledge(now, 0, checkpoint_id, 0, measured(0, sync, size, 10 * size))
    subject.acknowledge(now + 10, 0, checkpoint_id, 1, measured(1, 2 * sync, size, 10 * size))
    subject.metadata_written(now + 15, checkpoint_id, stored(checkpoint_id, 2 * size, 20 * size, "/checkpoints"))


@pytest.fixture
def subject() -> CheckpointCoordinator:
    options = CheckpointOptions(interval_ms=100, tolerable_failures=9, max_concurrent=2)
    return CheckpointCoordinator(options, frozenset({0, 1}), 0, 1, 0, operators={SOURCE: 1, COUNTER: 2})


@pytest.fixture
def busy(subject: CheckpointCoordinator) -> CheckpointCoordinator:
    """A job with a completed checkpoint (1), a failed one (2), and a savepoint under way (3)."""
    subject.trigger(1_000, 1)
    complete(subject, 1_050, 1)
    subject.trigger(2_000, 2)
    subject.acknowledge(2_010, 0, 2, 0, measured(0))
    subject.decline(2_060, 0, 2, 1, CheckpointFailureReason.DECLINED, "disk full")
    subject.trigger(3_000, 3, savepoint=True)
    return subject


def test_all_answers_have_the_shape_of_flinks(busy: CheckpointCoordinator) -> None:
    overview = busy.statistics()
    own, flink = checkpoints(overview), FLINK["checkpoints"]
    assert list(own) == list(flink)
    for part in ("counts", "summary"):
        assert shape(own[part]) == shape(flink[part])
    assert shape(own["latest"]["completed"]) == shape(flink["latest"]["completed"])
    assert shape(own["latest"]["failed"]) == shape(FLINK["failed_checkpoint"])
    assert shape(own["history"][0]) == shape(flink["history"][0]), "in progress"
    assert list(own["latest"]) == list(flink["latest"])
    for number, recorded in ((1, "details"), (3, "details_in_progress"), (2, "details_failed")):
        details, flink_details = checkpoint_details(overview, number), FLINK[recorded]
        assert details is not None
        for task, flink_task in zip(details["tasks"].values(), flink_details["tasks"].values(), strict=True):
            assert shape(task) == shape(flink_task)
        assert shape(details | {"tasks": {}}) == shape(flink_details | {"tasks": {}})
    subtasks = checkpoint_subtasks(overview, 1, vertex_id(COUNTER))
    assert shape(subtasks) == shape(FLINK["subtasks"])
    pending = checkpoint_subtasks(overview, 3, vertex_id(COUNTER))
    assert shape(pending) == shape(FLINK["subtasks_pending"])


def test_a_job_without_any_answers_as_flink_does(subject: CheckpointCoordinator) -> None:
    flink = FLINK["checkpoints_at_start"]
    subject.restored(RestoredStatistics(1, 5, True, flink["latest"]["restored"]["external_path"]))
    own = checkpoints(subject.statistics())
    flink["latest"]["restored"]["restore_timestamp"] = 5
    for name in ("alignment_buffered",):  # Flink's own exception: it has no percentiles of anything else here
        flink["summary"][name] = flink["summary"]["processed_data"]
    assert own == flink


def test_numbers_are_those_of_the_checkpoint(busy: CheckpointCoordinator) -> None:
    own = checkpoints(busy.statistics())
    assert own["counts"] == {"restored": 0, "total": 3, "in_progress": 1, "completed": 1, "failed": 1}
    assert [(entry["id"], entry["className"]) for entry in own["history"]] == [
        (3, "in_progress"),
        (2, "failed"),
        (1, "completed"),
    ]
    latest = own["latest"]["completed"]
    assert latest["checkpointed_size"] == 200
    assert latest["state_size"] == 2_000
    assert latest["end_to_end_duration"] == 65
    assert latest["latest_ack_timestamp"] == 1_060
    assert (latest["num_subtasks"], latest["num_acknowledged_subtasks"]) == (3, 3)
    assert latest["external_path"] == "/checkpoints/chk-1"
    failed = own["latest"]["failed"]
    assert failed["failure_timestamp"] == 2_060
    assert failed["failure_message"] == "a subtask declined it (slot 1: disk full)"
    assert failed["num_acknowledged_subtasks"] == 2
    savepoint = own["history"][0]
    assert (savepoint["checkpoint_type"], savepoint["savepointFormat"]) == ("SAVEPOINT", "CANONICAL")
    assert (savepoint["latest_ack_timestamp"], savepoint["end_to_end_duration"]) == (-1, -1)


def test_subtasks_tell_what_was_measured_and_sum_it_up(busy: CheckpointCoordinator) -> None:
    answer = checkpoint_subtasks(busy.statistics(), 1, COUNTER)
    assert answer is not None
    first, second = answer["subtasks"]
    assert (first["checkpoint"], second["checkpoint"]) == ({"sync": 5, "async": 7}, {"sync": 10, "async": 7})
    assert (first["start_delay"], first["alignment"]["duration"]) == (2, 3)
    sync = answer["summary"]["checkpoint_duration"]["sync"]
    assert (sync["min"], sync["max"], sync["avg"], sync["p50"]) == (5, 10, 7, 7.5)


def test_a_vertex_is_found_by_its_id_and_by_its_uid(busy: CheckpointCoordinator) -> None:
    overview = busy.statistics()
    assert checkpoint_subtasks(overview, 1, COUNTER) == checkpoint_subtasks(overview, 1, vertex_id(COUNTER))


def test_what_is_not_known_is_none(busy: CheckpointCoordinator) -> None:
    overview = busy.statistics()
    assert checkpoint_details(overview, 99) is None
    assert checkpoint_subtasks(overview, 99, COUNTER) is None
    assert checkpoint_subtasks(overview, 1, "nobody") is None


def test_a_stop_with_savepoint_is_a_sync_savepoint(subject: CheckpointCoordinator) -> None:
    subject.trigger(100, 1, savepoint=True, final=True)
    assert checkpoints(subject.statistics())["history"][0]["checkpoint_type"] == "SYNC_SAVEPOINT"


def test_everything_is_json(busy: CheckpointCoordinator) -> None:
    overview = busy.statistics()
    for answer in (checkpoints(overview), checkpoint_details(overview, 1), checkpoint_subtasks(overview, 1, COUNTER)):
        assert json.loads(json.dumps(answer, allow_nan=False)) == answer


def test_settings_answer_as_flinks_do(tmp_path: Path) -> None:
    configuration = Configuration()
    for key, value in {
        "execution.checkpointing.interval": "500 ms",
        "execution.checkpointing.dir": str(tmp_path),
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        "execution.checkpointing.tolerable-failed-checkpoints": "3",
    }.items():
        configuration.set_string(key, value)
    settings = settle("id", "name", configuration, CheckpointConfig(configuration), ExecutionConfig())
    assert checkpoint_config(settings) == FLINK["config"]


def test_settings_of_a_job_without_checkpoints() -> None:
    configuration = Configuration()
    settings = settle("id", "name", configuration, CheckpointConfig(configuration), ExecutionConfig())
    answer = checkpoint_config(settings)
    assert answer["interval"] == 2**63 - 1
    assert answer["checkpoint_storage"] == "JobManagerCheckpointStorage"
    assert answer["externalization"] == {"enabled": False, "delete_on_cancellation": True}

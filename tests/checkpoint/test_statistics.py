"""Statistics of checkpoints: counts, history, summary, and what they survive."""

from __future__ import annotations

import random
import statistics

import pytest

from rekindle.checkpoint.coordinator import CheckpointCoordinator
from rekindle.checkpoint.distribution import distribution_of
from rekindle.checkpoint.events import CheckpointFailureReason
from rekindle.checkpoint.options import CheckpointOptions
from rekindle.checkpoint.slot_snapshot import OperatorSnapshot
from rekindle.checkpoint.statistics import CheckpointStatus, RestoredStatistics
from rekindle.checkpoint.statistics_overview import CheckpointCounts
from support.slot_snapshots import snapshot, stored

OPERATORS = {"source": 1, "counter": 2}


def coordinator(**options: int) -> CheckpointCoordinator:
    settings = CheckpointOptions(interval_ms=100, **{"tolerable_failures": 100, **options})  # type: ignore[arg-type]
    return CheckpointCoordinator(settings, frozenset({0, 1}), 0, 1, 0, operators=OPERATORS)


def run(subject: CheckpointCoordinator, now: int, sync: int = 1, size: int = 10, savepoint: bool = False) -> int:
    """Take a checkpoint that takes 20 ms; return its id."""
    number = subject.next_checkpoint_id
    subject.trigger(now, 1, savepoint=savepoint)
    for slot in (0, 1):
        operator = OperatorSnapshot("counter", [], {}, sync_ms=sync + slot, async_ms=3, size=size, written=size)
        subject.acknowledge(now + 10, subject.attempt, number, slot, snapshot(slot, "state", operator))
    subject.metadata_written(now + 20, number, stored(number, 2 * size, 4 * size))
    return number


def test_a_checkpoint_under_way_shows_who_has_acknowledged() -> None:
    subject = coordinator()
    subject.trigger(100, 1)
    [entry] = subject.statistics().in_progress
    assert (entry.status, entry.subtask_count, entry.acknowledged_count) == (CheckpointStatus.IN_PROGRESS, 3, 0)
    assert entry.latest_ack_timestamp is None
    operators = [OperatorSnapshot(uid, [], {}) for uid in ("source", "counter")]
    subject.acknowledge(130, 0, 1, 0, snapshot(0, "state", *operators))
    [entry] = subject.statistics().in_progress
    assert (entry.acknowledged_count, entry.latest_ack_timestamp, entry.duration_ms) == (2, 130, 30)
    assert [task.complete for task in entry.tasks] == [True, False]


def test_counts_and_latest_tell_kinds_apart() -> None:
    subject = coordinator()
    run(subject, 100)
    run(subject, 200, savepoint=True)
    subject.trigger(300, 1)
    subject.expire(10**7)
    overview = subject.statistics()
    assert overview.counts == CheckpointCounts(restored=0, total=3, in_progress=0, completed=2, failed=1)
    latest = (overview.latest_completed, overview.latest_savepoint, overview.latest_failed)
    assert [entry and entry.checkpoint_id for entry in latest] == [1, 2, 3]
    assert overview.latest_failed is not None
    assert overview.latest_failed.reason is CheckpointFailureReason.EXPIRED


def test_what_is_deleted_later_is_shown_as_discarded() -> None:
    subject = coordinator(num_retained=1)
    run(subject, 100)
    run(subject, 200)
    assert [(entry.checkpoint_id, entry.discarded) for entry in subject.history()] == [(1, True), (2, False)]


def test_statistics_outlive_the_attempt() -> None:
    subject = coordinator()
    run(subject, 100)
    subject.trigger(200, 1)
    subject.abort_all(250, CheckpointFailureReason.JOB_FAILED)
    subject = subject.successor(1, frozenset({0, 1}), 300)
    subject.restored(RestoredStatistics(1, 310, False, "/chk-1"))
    run(subject, 400)
    overview = subject.statistics()
    assert overview.counts == CheckpointCounts(restored=1, total=3, in_progress=0, completed=2, failed=1)
    assert [(entry.checkpoint_id, entry.attempt) for entry in overview.history] == [(3, 1), (2, 0), (1, 0)]
    assert overview.latest_restored == RestoredStatistics(1, 310, False, "/chk-1")
    assert overview.summary.duration.count == 2


def test_the_latest_are_found_when_the_history_has_forgotten_them() -> None:
    subject = coordinator(history_size=1)
    run(subject, 100)
    for now in (200, 400):
        subject.trigger(now, 1)
        subject.decline(now + 1, 0, subject.next_checkpoint_id - 1, 0, CheckpointFailureReason.DECLINED, "no")
    overview = subject.statistics()
    assert [entry.checkpoint_id for entry in overview.history] == [3]
    assert overview.find(1) is overview.latest_completed
    assert overview.find(2) is None


def test_the_summary_is_of_completed_ones_and_takes_the_longest_subtask() -> None:
    subject = coordinator()
    for number, sync in enumerate((1, 5, 3), start=1):
        run(subject, 100 * number, sync, size=number)
    subject.trigger(900, 1)
    subject.expire(10**7)
    summary = subject.statistics().summary
    assert (summary.sync.minimum, summary.sync.maximum, summary.sync.average) == (2, 6, 4)
    assert summary.sync.percentile(50) == 4
    assert summary.asynchronous.maximum == 3
    assert (summary.written_size.minimum, summary.written_size.maximum) == (2, 6)
    assert (summary.state_size.minimum, summary.state_size.maximum) == (4, 12)
    assert (summary.duration.count, summary.duration.maximum) == (3, 20)


@pytest.mark.parametrize("seed", range(20))
def test_percentiles_agree_with_the_standard_library(seed: int) -> None:
    values = [random.Random(seed).randrange(1000) for _ in range(seed + 2)]
    spread = distribution_of(values)
    quantiles = statistics.quantiles(values, n=100)
    for percent in (50, 90, 95, 99):
        assert spread.percentile(percent) == pytest.approx(
            min(max(quantiles[percent - 1], spread.minimum), spread.maximum)
        )
    assert (spread.minimum, spread.maximum) == (min(values), max(values))


def test_of_nothing_there_are_no_percentiles() -> None:
    assert distribution_of(()).percentile(50) is None
    assert distribution_of([7]).percentile(99.9) == 7

"""Two-phase sinks: what was written becomes visible once, when the checkpoint that holds it is complete."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest

from rekindle.datastream.connectors.base import Sink, SinkWriter, SinkWriterContext
from rekindle.runtime.operators.sinks import TwoPhaseSinkOperator
from rekindle.testing import HarnessSnapshot, OperatorHarness


@dataclass
class Outside:
    """The world that a sink writes to: it outlives all attempts."""

    visible: list[str] = field(default_factory=list)
    calls: list[tuple[int, str, Any]] = field(default_factory=list)
    contexts: list[SinkWriterContext] = field(default_factory=list)
    failing_commits: int = 0


class FakeSink(Sink):
    """Write to an Outside. A committable names its records; committing it twice would show them twice."""

    def __init__(self, outside: Outside) -> None:
        self.outside = outside

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        self.outside.contexts.append(context)
        return FakeWriter(self.outside, context.subtask)


class FakeWriter(SinkWriter):
    def __init__(self, outside: Outside, subtask: int) -> None:
        self.outside, self.subtask = outside, subtask
        self.open: list[str] = []

    def _note(self, call: str, what: Any = None) -> None:
        self.outside.calls.append((self.subtask, call, what))

    def write(self, values: list[Any], timestamps: list[int | None] | None) -> None:
        self.open += values

    def prepare_commit(self, checkpoint_id: int) -> list[bytes]:
        self._note("prepare", checkpoint_id)
        written, self.open = self.open, []
        return [record.encode() for record in written]

    def commit(self, committables: list[bytes]) -> None:
        if self.outside.failing_commits:
            self.outside.failing_commits -= 1
            raise OSError("the other side is down")
        records = [committable.decode() for committable in committables]
        self._note("commit", records)
        self.outside.visible += records

    def keep(self, committables: list[bytes]) -> None:
        self._note("keep", [committable.decode() for committable in committables])

    def abort_leftovers(self) -> None:
        self._note("abort leftovers")

    def close(self) -> None:
        self._note("close")


def sink(
    outside: Outside,
    subtask: int = 0,
    parallelism: int = 1,
    restored: list[HarnessSnapshot] | None = None,
    name: str = "sink",
) -> OperatorHarness:
    return OperatorHarness(
        TwoPhaseSinkOperator(FakeSink(outside)), subtask=subtask, parallelism=parallelism, restored=restored, name=name
    )


class TestCommitting:
    def test_nothing_is_visible_before_the_checkpoint_is_complete(self) -> None:
        outside = Outside()
        harness = sink(outside)
        harness.process("a", "b")
        harness.snapshot(1)
        assert outside.visible == []
        harness.complete(1)
        assert outside.visible == ["a", "b"]

    def test_what_was_written_after_the_barrier_belongs_to_the_next_checkpoint(self) -> None:
        outside = Outside()
        harness = sink(outside)
        harness.process("a")
        harness.snapshot(1)
        harness.process("b")
        harness.complete(1)
        assert outside.visible == ["a"]
        harness.snapshot(2)
        harness.complete(2)
        assert outside.visible == ["a", "b"]

    def test_a_notification_commits_everything_up_to_its_checkpoint_in_order_and_nothing_beyond(self) -> None:
        outside = Outside()
        harness = sink(outside)
        for checkpoint_id in (1, 2, 3):
            harness.process(f"of {checkpoint_id}")
            harness.snapshot(checkpoint_id)
        harness.complete(2)
        assert outside.visible == ["of 1", "of 2"]
        harness.complete(3)
        assert outside.visible == ["of 1", "of 2", "of 3"]

    def test_everything_is_committed_once_however_often_it_is_notified(self) -> None:
        outside = Outside()
        harness = sink(outside)
        harness.process("a")
        harness.snapshot(1)
        for checkpoint_id in (1, 1, 2):
            harness.complete(checkpoint_id)
        harness.snapshot(3)
        harness.complete(3)
        assert outside.visible == ["a"]

    def test_what_an_aborted_checkpoint_held_becomes_visible_with_the_next_one(self) -> None:
        outside = Outside()
        harness = sink(outside)
        harness.process("a")
        harness.snapshot(1)
        harness.abort(1)
        assert outside.visible == []
        harness.process("b")
        harness.snapshot(2)
        harness.complete(2)
        assert outside.visible == ["a", "b"]

    def test_a_commit_that_fails_is_not_taken_for_done(self) -> None:
        outside = Outside(failing_commits=1)
        harness = sink(outside)
        harness.process("a")
        harness.snapshot(1)
        with pytest.raises(OSError, match="the other side is down"):
            harness.complete(1)
        harness.complete(1)
        assert outside.visible == ["a"]

    def test_all_that_a_savepoint_in_passing_refers_to_is_kept_and_not_committed(self) -> None:
        outside = Outside()
        harness = sink(outside)
        for checkpoint_id in (1, 2, 3):
            harness.process(f"of {checkpoint_id}")
            harness.snapshot(checkpoint_id)
        harness.operator.savepoint_completed(2)
        assert [what for _, call, what in outside.calls if call == "keep"] == [["of 1"], ["of 2"]]
        assert outside.visible == []
        harness.complete(3)
        assert outside.visible == ["of 1", "of 2", "of 3"]

    def test_a_job_without_checkpoints_commits_at_its_end(self) -> None:
        outside = Outside()
        harness = sink(outside)
        harness.process("a")
        harness.operator.commit_final(1)
        assert outside.visible == ["a"]

    def test_closing_commits_nothing(self) -> None:
        outside = Outside()
        harness = sink(outside)
        harness.process("a")
        harness.snapshot(1)
        harness.close()
        assert outside.visible == []
        assert outside.calls[-1] == (0, "close", None)


def pending(parallelism: int) -> tuple[Outside, list[HarnessSnapshot]]:
    """Let every subtask write, take checkpoints 1 and 2, and fail before either is known to be complete."""
    outside = Outside()
    snapshots = []
    for subtask in range(parallelism):
        harness = sink(outside, subtask, parallelism)
        harness.process(f"{subtask}.1")
        harness.snapshot(1)
        harness.process(f"{subtask}.2", f"{subtask}.2b")
        snapshots.append(harness.snapshot(2))
        harness.process(f"{subtask} lost")
    assert outside.visible == []
    return outside, snapshots


class TestRestoring:
    @pytest.mark.parametrize(("before", "after"), [(1, 1), (2, 2), (1, 3), (2, 3), (3, 2), (4, 1)])
    def test_what_was_pending_in_the_checkpoint_is_committed_by_exactly_one_subtask(
        self, before: int, after: int
    ) -> None:
        outside, snapshots = pending(before)
        for subtask in range(after):
            sink(outside, subtask, after, snapshots)
        records = [f"{subtask}.{record}" for subtask in range(before) for record in ("1", "2", "2b")]
        assert Counter(outside.visible) == Counter(records)

    def test_what_was_pending_is_committed_in_the_order_of_the_checkpoints(self) -> None:
        outside, snapshots = pending(1)
        sink(outside, restored=snapshots)
        assert outside.visible == ["0.1", "0.2", "0.2b"]

    def test_leftovers_are_aborted_once_after_the_commit_and_before_the_first_record(self) -> None:
        outside, snapshots = pending(2)
        outside.calls.clear()
        for subtask in range(2):
            sink(outside, subtask, 2, snapshots)
        assert [call for _, call, _ in outside.calls] == ["commit", "abort leftovers"] * 2

    def test_leftovers_are_aborted_also_where_nothing_was_pending_and_in_the_first_attempt(self) -> None:
        outside = Outside()
        sink(outside)
        assert [call for _, call, _ in outside.calls] == ["abort leftovers"]

    def test_what_was_committed_after_the_restore_is_not_committed_again_later(self) -> None:
        outside, snapshots = pending(2)
        harnesses = [sink(outside, subtask, 2, snapshots) for subtask in range(2)]
        outside.visible.clear()
        for harness in harnesses:
            harness.process("new")
            harness.snapshot(3)
            harness.complete(3)
        assert outside.visible == ["new", "new"]

    def test_a_second_failure_before_the_next_checkpoint_commits_the_same_again(self) -> None:
        """The writer must bear it: it is told the same committables, and what is visible already stays as it is."""
        outside, snapshots = pending(1)
        sink(outside, restored=snapshots)
        first = list(outside.visible)
        outside.visible.clear()
        sink(outside, restored=snapshots)
        assert outside.visible == first

    def test_what_is_pending_and_not_restored_stays_in_the_next_checkpoint_until_it_is_complete(self) -> None:
        outside = Outside()
        harness = sink(outside)
        harness.process("a")
        harness.snapshot(1)
        harness.process("b")
        both = harness.snapshot(2)
        sink(outside, restored=[both])
        assert outside.visible == ["a", "b"]

    def test_the_lineage_stays_the_same_over_restarts_restores_and_rescaling(self) -> None:
        outside, snapshots = pending(2)
        for subtask in range(3):
            sink(outside, subtask, 3, snapshots, name="renamed")
        lineages = {context.lineage for context in outside.contexts}
        assert lineages == {"harness-sink"}

    def test_two_sinks_have_different_lineages(self) -> None:
        outside = Outside()
        sink(outside, name="first")
        sink(outside, name="second")
        assert len({context.lineage for context in outside.contexts}) == 2

    def test_the_writer_is_told_where_it_runs(self) -> None:
        outside = Outside()
        sink(outside, subtask=1, parallelism=3)
        (context,) = outside.contexts
        assert (context.subtask, context.parallelism, context.attempt) == (1, 3, 0)
        assert context.clock.now() == 0

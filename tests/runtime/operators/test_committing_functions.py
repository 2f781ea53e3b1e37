"""Sink functions with Flink's protocols of two-phase commit: which transaction is given to which method, and when."""

from __future__ import annotations

import logging
from collections import Counter
from typing import Any

import pytest

from rekindle.common import Types
from rekindle.datastream import SinkFunction
from rekindle.datastream.connectors import (
    CheckpointCommitter,
    GenericWriteAheadSink,
    TwoPhaseCommitSinkFunction,
)
from rekindle.datastream.functions import CheckpointListener
from rekindle.exceptions import InvalidProgramError, OutputLostError
from rekindle.testing import HarnessSnapshot, ManualClock, OperatorHarness, local_environment

calls: list[Any] = []
failing: set[str] = set()


@pytest.fixture(autouse=True)
def nothing_called() -> None:
    calls.clear()
    failing.clear()


class Noting(TwoPhaseCommitSinkFunction[Any, list[Any]]):
    """Transactions are lists that begin with their number; every call is noted."""

    begun = 0

    def _note(self, call: str, transaction: Any) -> None:
        calls.append((call, list(transaction)))
        if call in failing:
            failing.remove(call)
            raise OSError(f"{call} fails")

    def begin_transaction(self) -> list[Any]:
        self._note("begin", [self.begun])
        self.begun += 1
        return [self.begun - 1]

    def invoke(self, transaction: list[Any], value: Any, context: SinkFunction.Context) -> None:
        transaction.append(value)

    def pre_commit(self, transaction: list[Any]) -> None:
        self._note("pre-commit", transaction)

    def commit(self, transaction: list[Any]) -> None:
        self._note("commit", transaction)

    def abort(self, transaction: list[Any]) -> None:
        self._note("abort", transaction)

    def recover_and_commit(self, transaction: list[Any]) -> None:
        self._note("recover and commit", transaction)

    def recover_and_abort(self, transaction: list[Any]) -> None:
        self._note("recover and abort", transaction)


def opened(function: Any, restored: list[HarnessSnapshot] | None = None, **settings: Any) -> OperatorHarness:
    return OperatorHarness.unkeyed(function, restored=restored, **settings)


class TestTransactions:
    def test_there_is_one_from_each_barrier_to_the_next(self) -> None:
        harness = opened(Noting())
        harness.process("a", "b")
        harness.snapshot(1)
        harness.process("c")
        harness.complete(1)
        assert calls == [("begin", [0]), ("pre-commit", [0, "a", "b"]), ("begin", [1]), ("commit", [0, "a", "b"])]

    def test_a_notification_commits_everything_up_to_its_checkpoint(self) -> None:
        harness = opened(Noting())
        for checkpoint_id in (1, 2, 3):
            harness.process(f"of {checkpoint_id}")
            harness.snapshot(checkpoint_id)
        harness.complete(2)
        assert [call for call in calls if call[0] == "commit"] == [("commit", [0, "of 1"]), ("commit", [1, "of 2"])]

    def test_an_aborted_checkpoints_transaction_is_committed_with_the_next_one(self) -> None:
        harness = opened(Noting())
        harness.process("a")
        harness.snapshot(1)
        harness.abort(1)
        harness.snapshot(2)
        harness.complete(2)
        assert [call for call in calls if call[0] == "commit"] == [("commit", [0, "a"]), ("commit", [1])]

    def test_closing_aborts_the_current_one_and_no_other(self) -> None:
        harness = opened(Noting())
        harness.process("a")
        harness.snapshot(1)
        harness.process("b")
        harness.close()
        assert calls[-1] == ("abort", [1, "b"])
        assert [call for call, _ in calls].count("abort") == 1

    def test_it_goes_on_after_a_pre_commit_that_failed_and_is_tolerated(self) -> None:
        harness = opened(Noting())
        harness.process("a")
        failing.add("pre-commit")
        with pytest.raises(OSError, match="pre-commit fails"):
            harness.snapshot(1)
        harness.process("b")
        harness.snapshot(2)
        harness.complete(2)
        assert calls[-1] == ("commit", [0, "a", "b"])

    def test_none_is_forgotten_when_the_next_cannot_begin_at_the_barrier(self) -> None:
        harness = opened(Noting())
        harness.process("a")
        failing.add("begin")
        with pytest.raises(OSError, match="begin fails"):
            harness.snapshot(1)
        harness.process("b")
        snapshot = harness.snapshot(2)
        harness.complete(2)
        assert [call for call in calls if call[0] == "commit"] == [("commit", [0, "a"]), ("commit", [1, "b"])]
        calls.clear()
        opened(Noting(), [snapshot])
        assert calls[:3] == [
            ("recover and commit", [0, "a"]),
            ("recover and commit", [1, "b"]),
            ("recover and abort", [2]),
        ]

    def test_a_commit_that_fails_is_not_taken_for_done(self) -> None:
        harness = opened(Noting())
        harness.process("a")
        harness.snapshot(1)
        failing.add("commit")
        with pytest.raises(OSError, match="commit fails"):
            harness.complete(1)
        calls.clear()
        harness.complete(1)
        assert calls == [("commit", [0, "a"])]

    def test_a_job_without_checkpoints_commits_at_its_end(self) -> None:
        harness = opened(Noting())
        harness.process("a")
        harness.finish()
        harness.operator.commit_final(1)  # type: ignore[attr-defined]
        assert calls[-1] == ("commit", [0, "a"])

    def test_open_comes_before_the_first_transaction(self) -> None:
        class Opening(Noting):
            def open(self, runtime_context: Any) -> None:
                calls.append(("open", runtime_context.get_index_of_this_subtask()))

        opened(Opening(), subtask=1, parallelism=2)
        assert calls == [("open", 1), ("begin", [0])]

    def test_operator_state_of_its_own_is_refused(self) -> None:
        class Listening(Noting, CheckpointListener):
            pass

        stream = local_environment().from_collection([1])
        with pytest.raises(InvalidProgramError, match="user context"):
            stream.add_sink(Listening())


def pending(parallelism: int, function: type[Noting] = Noting) -> list[HarnessSnapshot]:
    """Take checkpoints 1 and 2 in all subtasks, and fail before either is known to be complete."""
    snapshots = []
    for subtask in range(parallelism):
        harness = opened(function(), subtask=subtask, parallelism=parallelism)
        harness.process(f"{subtask}.1")
        harness.snapshot(1)
        harness.process(f"{subtask}.2")
        snapshots.append(harness.snapshot(2))
        harness.process("lost")
    calls.clear()
    return snapshots


class TestRestoring:
    def test_pending_ones_are_committed_and_then_the_current_one_is_aborted(self) -> None:
        opened(Noting(), pending(1))
        assert calls == [
            ("recover and commit", [0, "0.1"]),
            ("recover and commit", [1, "0.2"]),
            ("recover and abort", [2]),
            ("begin", [0]),
        ]

    @pytest.mark.parametrize(("before", "after"), [(2, 2), (1, 3), (2, 3), (3, 2), (4, 1)])
    def test_each_is_given_to_exactly_one_subtask(self, before: int, after: int) -> None:
        snapshots = pending(before)
        for subtask in range(after):
            opened(Noting(), snapshots, subtask=subtask, parallelism=after)
        committed = [what for call, what in calls if call == "recover and commit"]
        assert sorted(committed) == sorted([n, f"{s}.{n + 1}"] for s in range(before) for n in range(2))
        assert [what for call, what in calls if call == "recover and abort"] == [[2]] * before

    def test_they_are_stored_with_the_type_of_the_function(self) -> None:
        class Named(TwoPhaseCommitSinkFunction[Any, str]):
            def __init__(self) -> None:
                super().__init__(Types.STRING())

            def begin_transaction(self) -> str:
                return "name"

            def invoke(self, transaction: str, value: Any, context: SinkFunction.Context) -> None: ...
            def pre_commit(self, transaction: str) -> None: ...
            def abort(self, transaction: str) -> None: ...
            def commit(self, transaction: str) -> None:
                calls.append(transaction)

        snapshot = opened(Named()).snapshot(1)
        (item,) = snapshot.lists["pending-commits"].items
        assert b"name" in item
        assert b"\x80\x05" not in item  # nothing is pickled
        opened(Named(), [snapshot])
        assert calls == ["name"]

    def test_a_failure_to_commit_is_ignored_only_after_the_timeout(self, caplog: pytest.LogCaptureFixture) -> None:
        def patient() -> Noting:
            sink = Noting()
            sink.set_transaction_timeout(1_000).ignore_failures_after_transaction_timeout()
            return sink

        snapshots = pending(1)
        failing.add("recover and commit")
        with pytest.raises(OSError, match="recover and commit fails"):
            opened(patient(), snapshots, clock=ManualClock(1_000))
        failing.add("recover and commit")
        with caplog.at_level(logging.ERROR):
            opened(patient(), snapshots, clock=ManualClock(1_001))
        assert "its records are lost" in caplog.text
        assert ("recover and commit", [1, "0.2"]) in calls

    def test_a_commit_near_the_timeout_warns(self, caplog: pytest.LogCaptureFixture) -> None:
        clock = ManualClock()
        sink = Noting()
        sink.set_transaction_timeout(1_000).enable_transaction_timeout_warnings(0.5)
        harness = opened(sink, clock=clock)
        harness.snapshot(1)
        clock.set(501)
        with caplog.at_level(logging.WARNING):
            harness.complete(1)
        assert "501 ms after it began" in caplog.text


class Pooling(Noting):
    def initialize_user_context(self) -> Any:
        calls.append(("initialize context", []))
        return ["pool"]

    def finish_recovering_context(self, handled_transactions: list[Any]) -> None:
        calls.append(("finish recovering", [self.get_user_context(), *handled_transactions]))


def test_the_user_context_comes_back_with_the_transactions_that_were_handled() -> None:
    snapshots = pending(1, Pooling)
    opened(Pooling(), snapshots)
    assert ("finish recovering", [["pool"], [0, "0.1"], [1, "0.2"], [2]]) in calls
    assert not any(call == "initialize context" for call, _ in calls)


# --- write-ahead ---

sent: list[tuple[list[Any], int, int]] = []
noted: dict[tuple[str, str, int], int] = {}
refusing: list[bool] = []


@pytest.fixture(autouse=True)
def nothing_sent() -> None:
    sent.clear()
    noted.clear()
    refusing.clear()


class Committer(CheckpointCommitter):
    def create_resource(self) -> None: ...
    def open(self) -> None: ...
    def close(self) -> None:
        calls.append("committer closed")

    def commit_checkpoint(self, subtask: int, checkpoint_id: int) -> None:
        if "commit_checkpoint" in failing:
            raise OSError("the note is not taken")
        noted[self.job_id, self.operator_id, subtask] = checkpoint_id

    def is_checkpoint_committed(self, subtask: int, checkpoint_id: int) -> bool:
        return checkpoint_id <= noted.get((self.job_id, self.operator_id, subtask), 0)


class Sending(GenericWriteAheadSink):
    def send_values(self, values: list[Any], checkpoint_id: int, timestamp: int) -> bool:
        if refusing and refusing.pop():
            return False
        sent.append((values, checkpoint_id, timestamp))
        return True


def sending(restored: list[HarnessSnapshot] | None = None, **settings: Any) -> OperatorHarness:
    return opened(Sending(Committer()), restored, **settings)


class TestWriteAhead:
    def test_records_are_sent_when_their_checkpoint_is_complete(self) -> None:
        harness = sending(clock=ManualClock(77))
        harness.process(1, 2)
        harness.snapshot(1)
        harness.process(3)
        assert sent == []
        harness.complete(1)
        assert sent == [([1, 2], 1, 77)]

    def test_a_restored_checkpoint_is_sent_unless_the_committer_knows_that_it_was(self) -> None:
        harness = sending()
        harness.process(1)
        snapshot = harness.snapshot(1)
        sending([snapshot])
        sending([snapshot])
        assert sent == [([1], 1, 0)]

    def test_a_crash_between_sending_and_the_note_sends_again(self) -> None:
        harness = sending()
        harness.process(1)
        snapshot = harness.snapshot(1)
        failing.add("commit_checkpoint")
        with pytest.raises(OSError, match="the note is not taken"):
            harness.complete(1)
        failing.clear()
        sending([snapshot])
        assert sent == [([1], 1, 0)] * 2

    def test_another_job_asks_for_what_it_restores_under_the_job_that_wrote_it(self) -> None:
        first = sending(job_id="first")
        for checkpoint_id in (1, 2):
            first.process(checkpoint_id)
            snapshot = first.snapshot(checkpoint_id)
            if checkpoint_id == 1:
                old = snapshot
            first.complete(checkpoint_id)
        second = sending([old], job_id="second")  # goes back: its checkpoint 2 is not the first job's
        second.process("other")
        second.snapshot(2)
        second.complete(2)
        assert sent == [([1], 1, 0), ([2], 2, 0), (["other"], 2, 0)]

    def test_what_was_refused_is_sent_with_the_next_checkpoint_and_before_its_records(self) -> None:
        harness = sending()
        harness.process(1)
        harness.snapshot(1)
        refusing.append(True)
        harness.complete(1)
        harness.process(2)
        snapshot = harness.snapshot(2)
        sending([snapshot])
        assert [values for values, _, _ in sent] == [[1], [2]]
        harness.complete(2)
        assert len(sent) == 2

    def test_what_is_refused_at_the_end_fails_the_job(self) -> None:
        harness = sending()
        harness.process(1)
        harness.finish()
        harness.snapshot(1)
        refusing.append(True)
        with pytest.raises(OutputLostError, match="refused the records of checkpoint 1"):
            harness.complete(1)

    def test_a_job_without_checkpoints_sends_at_its_end_under_a_number_of_its_own(self) -> None:
        harness = sending()
        harness.process(1)
        harness.snapshot(1)  # a savepoint in passing
        harness.process(2)
        harness.finish()
        harness.operator.commit_final(1)  # type: ignore[attr-defined]
        assert sent == [([1], 1, 0), ([2], 2, 0)]

    @pytest.mark.parametrize(("before", "after"), [(2, 3), (3, 2), (3, 1)])
    def test_records_of_each_old_subtask_are_sent_by_one_new_one(self, before: int, after: int) -> None:
        snapshots = []
        for subtask in range(before):
            harness = sending(subtask=subtask, parallelism=before)
            harness.process(subtask)
            snapshots.append(harness.snapshot(1))
        for _ in range(2):
            for subtask in range(after):
                sending(snapshots, subtask=subtask, parallelism=after)
        assert Counter(values[0] for values, _, _ in sent) == Counter(range(before))

    def test_the_committer_is_closed(self) -> None:
        sending().close()
        assert calls == ["committer closed"]

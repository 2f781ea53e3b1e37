"""What follows a failure, above all when the checkpoint to go back to is damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.checkpoint.metadata import CheckpointMetadata, encode_metadata
from rekindle.checkpoint.restoring import FALLBACK_KEY, RestorePath
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.exceptions import CheckpointCorruptError
from rekindle.runtime.master.restarts.recovery import FallBack, Recovery, as_restored
from rekindle.runtime.master.restarts.restart_strategies import FixedDelayRestart, GiveUp, Restart

DAMAGE = CheckpointCorruptError("snapshot file slot-0-0 cannot be read: it is damaged. Restore from another checkpoint")


def completed(*numbers: int) -> tuple[CompletedCheckpoint, ...]:
    return tuple(
        CompletedCheckpoint(StoredCheckpoint(CheckpointMetadata(number, "job", "name", 0, 0, [], [], []), None, ""))
        for number in numbers
    )


def recovery(fallback: bool, origin: RestorePath | None = None) -> Recovery:
    return Recovery(FixedDelayRestart(None, 5), fallback, origin)


def origin(directory: Path, *numbers: int, damaged: tuple[int, ...] = ()) -> RestorePath:
    for number in numbers:
        file = directory / "job" / f"chk-{number}" / "_metadata"
        file.parent.mkdir(parents=True)
        data = encode_metadata(CheckpointMetadata(number, "other", "name", 0, 0, [], [], []))
        file.write_bytes(data[:-1] if number in damaged else data)
    return RestorePath(str(directory / "job"), fallback=True)


def test_a_failure_is_left_to_the_restart_strategy() -> None:
    assert recovery(True).on_failure(0) == Restart(5)


class TestWithFallback:
    def test_the_checkpoint_before_stands_in(self) -> None:
        checkpoints = completed(4, 5, 6)
        assert recovery(True).on_damage(0, checkpoints) == FallBack(checkpoints[2], checkpoints[1])

    def test_going_back_is_no_restart_so_that_no_strategy_forbids_it(self) -> None:
        checkpoints = completed(4, 5)
        subject = Recovery(FixedDelayRestart(0, 5), True, None)
        assert isinstance(subject.on_failure(0), GiveUp)
        assert subject.on_damage(0, checkpoints) == FallBack(checkpoints[1], checkpoints[0])

    def test_with_none_before_it_the_job_fails_at_once(self) -> None:
        decision = recovery(True).on_damage(0, completed(6))
        assert decision == GiveUp("there is no other checkpoint to go back to")

    def test_the_error_needs_no_advice(self) -> None:
        assert recovery(True).explain(DAMAGE, completed(5, 6)) is DAMAGE

    def test_before_the_first_checkpoint_of_its_own_is_what_the_job_was_started_from(self, tmp_path: Path) -> None:
        path = origin(tmp_path, 3)
        [own] = completed(4)
        decision = recovery(True, path).on_damage(0, (own,))
        assert decision == FallBack(own, as_restored(path.current))
        assert isinstance(decision, FallBack)
        assert decision.instead.savepoint, "it is not this job's to delete or to build on"

    def test_before_what_the_job_was_started_from_are_the_older_ones_there(self, tmp_path: Path) -> None:
        path = origin(tmp_path, 1, 2, 3, damaged=(2,))
        subject = recovery(True, path)
        restored = as_restored(path.current)
        decision = subject.on_damage(0, (restored,))
        assert isinstance(decision, FallBack)
        assert decision.damaged is restored
        assert decision.instead.checkpoint_id == 1
        assert isinstance(subject.on_damage(0, (decision.instead,)), GiveUp)

    def test_what_the_job_has_claimed_does_not_stand_in_once_it_is_gone(self, tmp_path: Path) -> None:
        path = origin(tmp_path, 2, 3)
        subject = Recovery(FixedDelayRestart(None, 5), True, path, claimed=True)
        claimed, [own] = as_restored(path.current, claimed=True), completed(4)
        assert subject.on_damage(0, (claimed, own)) == FallBack(own, claimed), "it is still retained"
        decision = subject.on_damage(0, (own,))
        assert isinstance(decision, FallBack)
        assert decision.instead.checkpoint_id == 2, "the one beside it is still there"
        assert isinstance(subject.on_damage(0, (own,)), GiveUp)

    def test_where_none_of_the_older_ones_can_be_read_the_job_fails(self, tmp_path: Path) -> None:
        path = origin(tmp_path, 1, 2, 3, damaged=(1, 2))
        decision = recovery(True, path).on_damage(0, (as_restored(path.current),))
        assert decision == GiveUp("there is no other checkpoint that can be read")


class TestWithoutFallback:
    def test_the_error_names_the_file_the_earlier_ones_and_the_option(self, tmp_path: Path) -> None:
        path = origin(tmp_path, 1, 2)
        explained = recovery(False, path).explain(DAMAGE, completed(4, 5, 6))
        assert str(explained) == (
            f"{DAMAGE}. Earlier checkpoints exist (checkpoint 5, checkpoint 4, checkpoint 2 in {tmp_path}/job/chk-2, "
            f"{tmp_path}/job/chk-1): set {FALLBACK_KEY} to true to go back to them"
        )
        assert explained.__cause__ is DAMAGE

    def test_the_only_checkpoint_comes_without_that_advice(self) -> None:
        assert recovery(False).explain(DAMAGE, completed(6)) is DAMAGE

    def test_reading_is_tried_once_more_as_the_restart_strategy_has_it(self) -> None:
        subject = recovery(False)
        assert subject.on_damage(0, completed(5, 6)) == Restart(5)
        assert subject.on_damage(0, completed(5, 6)) == GiveUp("reading the same checkpoint has failed twice")

    def test_another_checkpoint_is_tried_again(self) -> None:
        subject = recovery(False)
        assert subject.on_damage(0, completed(5, 6)) == Restart(5)
        assert subject.on_damage(0, completed(6, 7)) == Restart(5)

    def test_the_only_checkpoint_fails_the_job_at_once(self) -> None:
        assert isinstance(recovery(False).on_damage(0, completed(6)), GiveUp)

    def test_a_strategy_that_gives_up_does_so_here_too(self) -> None:
        assert isinstance(Recovery(FixedDelayRestart(0, 5), False, None).on_damage(0, completed(5, 6)), GiveUp)


@pytest.mark.parametrize("fallback", [True, False])
def test_damage_never_goes_on_for_ever(tmp_path: Path, fallback: bool) -> None:
    path = origin(tmp_path, 1, 2, 3)
    subject = recovery(fallback, path)
    checkpoints = completed(5, 6, 7)
    for _ in range(8):
        decision = subject.on_damage(0, checkpoints)
        if isinstance(decision, GiveUp):
            return
        if isinstance(decision, FallBack):
            checkpoints = checkpoints[:-1] or (decision.instead,)
            assert checkpoints[-1] == decision.instead
    raise AssertionError("it does")

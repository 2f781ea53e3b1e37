"""One driver after the other, and one beside the other: what each finds, may do, and leaves alone."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rekindle.common import Configuration, JobStatus
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.exceptions import CheckpointCorruptError, ConfigurationError, JobFencedError, StateRestoreError
from rekindle.runtime.master import job_master as job_master_module
from rekindle.runtime.master.attempts.attempt import Attempt
from rekindle.runtime.master.attempts.attempt_events import TellSlots
from rekindle.runtime.master.checkpoints.checkpoint_io import CheckpointIO
from rekindle.runtime.master.checkpoints.storage_orders import NoteOutput
from rekindle.runtime.master.epochs.epoch_events import EpochEnded
from rekindle.runtime.master.high_availability import takeover as takeover_module
from rekindle.runtime.master.high_availability.takeover import Takeover
from rekindle.runtime.master.settings.ha_settings import safe_name
from rekindle.runtime.master.settings.job_settings import JobSettings, settle
from rekindle.runtime.master.slots.slot_metrics import NO_READINGS
from rekindle.runtime.wire.messages import CommitFinal
from support.attempts import machine
from support.balances import key_of
from support.ha_drivers import InProcessDriver, ha_settings, latest_entry, missing_files
from support.in_process_job import JOB_ID
from support.processes import wait_until

COUNT = 2_000
OTHER_ID = "f" * 32


def golden(lines: list[str]) -> bool:
    """Return whether the last count and sum of each key are those of all events."""
    last: dict[str, tuple[int, int]] = {}
    for line in lines:
        key, number, total = line.split(",")
        last[key] = max(last.get(key, (0, 0)), (int(number), int(total)))
    expected: dict[str, tuple[int, int]] = {}
    for event in range(1, COUNT + 1):
        number, total = expected.get(key_of(event), (0, 0))
        expected[key_of(event)] = number + 1, total + event
    return last == expected


def completed_ids(driver: InProcessDriver) -> list[int]:
    return [checkpoint.checkpoint_id for checkpoint in driver.master._coordinator.completed()]


def checkpoint_names(directory: Path) -> list[str]:
    return sorted(path.parent.name for path in directory.glob("checkpoints/*/chk-*/_metadata"))


class TestOneAfterTheOther:
    def test_the_next_driver_goes_on_with_the_same_job_where_the_last_checkpoint_was(self, tmp_path: Path) -> None:
        first = InProcessDriver(tmp_path, COUNT, execution_checkpointing_num__retained="2")
        ids = [first.checkpoint() for _ in range(3)]
        assert ids == [1, 2, 3]
        first.kill()
        second = InProcessDriver(tmp_path, COUNT, OTHER_ID, execution_checkpointing_num__retained="2")
        assert second.master.settings.job_id == JOB_ID
        assert completed_ids(second) == [2, 3], "they are the new driver's own, and counted"
        later = second.checkpoint()
        assert later > 3
        assert completed_ids(second) == [3, later]
        assert checkpoint_names(tmp_path) == ["chk-14", "chk-3"], "what was subsumed is deleted"
        assert golden(second.job.run_to_end())
        assert second.end(JobStatus.FINISHED) is JobStatus.FINISHED
        assert list((tmp_path / "checkpoints").iterdir()) == []

    def test_a_job_that_was_killed_before_its_first_checkpoint_begins_at_the_beginning(self, tmp_path: Path) -> None:
        InProcessDriver(tmp_path, COUNT).kill()
        second = InProcessDriver(tmp_path, COUNT, OTHER_ID)
        assert (second.master.settings.job_id, second.restored) == (JOB_ID, None)
        assert golden(second.job.run_to_end())
        second.kill()

    @pytest.mark.parametrize("status", [JobStatus.FINISHED, JobStatus.CANCELED, JobStatus.FAILED])
    def test_a_job_that_is_over_begins_anew(self, tmp_path: Path, status: JobStatus) -> None:
        first = InProcessDriver(tmp_path, COUNT)
        first.checkpoint()
        assert first.end(status) is status
        latest = first.master.checkpoint_statistics().latest_completed
        assert latest is not None
        assert latest.discarded, "it is known to be deleted"
        assert (latest_entry(tmp_path).status, latest_entry(tmp_path).checkpoints) == (status.name, [])
        assert len(list((tmp_path / "ha/default").glob("*/*"))) == 1
        second = InProcessDriver(tmp_path, COUNT, OTHER_ID)
        assert (second.master.settings.job_id, second.restored) == (OTHER_ID, None)
        second.kill()

    @pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
    def test_files_that_checkpoints_share_are_kept_as_long_as_one_refers_to_them(
        self, tmp_path: Path, backend: str
    ) -> None:
        """Let drivers take over from each other, each building on the increments of those before."""
        settings = {
            "execution_checkpointing_incremental": "true",
            "execution_checkpointing_num__retained": "2",
            "state_backend_type": backend,
        }
        for _ in range(4):
            driver = InProcessDriver(tmp_path, COUNT, **settings)
            for _ in range(3):
                driver.checkpoint(30)
                assert missing_files(tmp_path) == []
            driver.job.run_epoch(10)
            driver.leave_checkpoint()  # and is gone
            driver.kill()
        last = InProcessDriver(tmp_path, COUNT, **settings)
        assert golden(last.job.run_to_end())
        last.checkpoint()
        assert missing_files(tmp_path) == []
        last.end(JobStatus.FINISHED)
        assert list((tmp_path / "checkpoints").iterdir()) == [], "the last driver owns what all have left"

    def test_what_was_not_completed_is_deleted_by_the_next_driver(self, tmp_path: Path) -> None:
        first = InProcessDriver(tmp_path, COUNT)
        first.checkpoint()
        first.job.run_epoch(10)
        assert first.leave_checkpoint() == 2
        assert len(list(tmp_path.glob("checkpoints/*/chk-2/*"))) == 2
        first.kill()
        InProcessDriver(tmp_path, COUNT, OTHER_ID).kill()
        assert not list(tmp_path.glob("checkpoints/*/chk-2"))
        assert missing_files(tmp_path) == []

    def test_its_own_checkpoint_wins_over_the_path_to_start_from(self, tmp_path: Path) -> None:
        other = InProcessDriver(tmp_path / "other", COUNT)
        other.checkpoint()
        path = latest_entry(tmp_path / "other").checkpoints[-1].location
        first = InProcessDriver(tmp_path, COUNT, execution_state__recovery_path=path)
        assert first.restored is not None, "there is no other checkpoint yet"
        assert first.restored.metadata.checkpoint_id == 1
        later = first.checkpoint()
        first.kill()
        second = InProcessDriver(tmp_path, COUNT, OTHER_ID, execution_state__recovery_path=path)
        assert second.restored is not None
        assert second.restored.metadata.checkpoint_id == later
        assert completed_ids(second) == [later]
        second.kill()
        other.kill()

    def test_a_job_that_was_killed_while_it_was_stopped_with_a_savepoint_goes_on_from_that(
        self, tmp_path: Path
    ) -> None:
        """Its sinks have committed up to the savepoint: the checkpoint before it is too early."""
        first = InProcessDriver(tmp_path, COUNT)
        first.checkpoint()
        first.job.run_epoch(100)
        savepoint = first.final_savepoint(tmp_path / "savepoints")
        first.kill()
        second = InProcessDriver(tmp_path, COUNT, OTHER_ID)
        assert second.restored is not None
        assert (second.restored.metadata.checkpoint_id, second.restored.metadata.savepoint) == (savepoint, True)
        later = second.checkpoint()
        assert completed_ids(second) == [later]
        assert golden(second.job.run_to_end())
        second.end(JobStatus.FINISHED)
        assert len(list(tmp_path.glob("savepoints/*/_metadata"))) == 1, "a savepoint is the user's"

    def test_a_checkpoint_that_completes_after_the_last_savepoint_does_not_hide_that_from_the_next_driver(
        self, tmp_path: Path
    ) -> None:
        first = InProcessDriver(tmp_path, COUNT)
        first.checkpoint()
        first.job.run_epoch(100)
        late = first.begin_checkpoint()
        answers = [first.job._answers.get(timeout=30) for _ in first.job.slots]
        first.job.run_epoch(100)
        savepoint = first.final_savepoint(tmp_path / "savepoints")  # its sinks have committed up to here
        for answer in answers:
            first.job._answers.put(answer)
            first.job.hear_snapshot()
        assert completed_ids(first)[-2:] == [late, savepoint]
        first.kill()
        second = InProcessDriver(tmp_path, COUNT, OTHER_ID)
        assert second.restored is not None
        assert second.restored.metadata.checkpoint_id == savepoint
        assert golden(second.job.run_to_end())
        second.kill()

    def test_what_one_driver_has_claimed_the_next_deletes_in_its_time(self, tmp_path: Path) -> None:
        other = InProcessDriver(tmp_path / "other", COUNT)
        other.checkpoint()
        path = latest_entry(tmp_path / "other").checkpoints[-1].location
        other.kill()
        settings = {
            "execution_state__recovery_path": path,
            "execution_state__recovery_claim__mode": "CLAIM",
            "execution_checkpointing_num__retained": "2",
        }
        first = InProcessDriver(tmp_path, COUNT, **settings)
        first.checkpoint()
        first.kill()
        second = InProcessDriver(tmp_path, COUNT, OTHER_ID, **settings)
        assert Path(path, "_metadata").exists()
        second.checkpoint()
        second.checkpoint()
        assert not Path(path, "_metadata").exists()
        assert missing_files(tmp_path) == []
        second.end(JobStatus.FINISHED)

    @pytest.mark.parametrize("parallelism", [3, 2])
    def test_a_driver_with_another_parallelism_does_not_build_on_increments_of_other_subtasks(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parallelism: int
    ) -> None:
        settings = {
            "execution_checkpointing_incremental": "true",
            "state_backend_type": "rocksdb",
            "pipeline_max__parallelism": "3",
        }
        monkeypatch.setattr(InProcessDriver, "PARALLELISM", 3)
        first = InProcessDriver(tmp_path, COUNT, **settings)
        for _ in range(2):
            first.checkpoint()
        first.kill()
        monkeypatch.setattr(InProcessDriver, "PARALLELISM", parallelism)
        second = InProcessDriver(tmp_path, COUNT, **settings)
        second.checkpoint()
        second.kill()
        third = InProcessDriver(tmp_path, COUNT, **settings)
        assert golden(third.job.run_to_end())
        third.end(JobStatus.FINISHED)

    def test_checkpoints_that_were_written_elsewhere_are_gone_on_from_and_left_alone(self, tmp_path: Path) -> None:
        first = InProcessDriver(tmp_path, COUNT, execution_checkpointing_incremental="true")
        first.checkpoint()
        first.kill()
        settings = {"execution_checkpointing_dir": str(tmp_path / "new"), "execution_checkpointing_incremental": "true"}
        second = InProcessDriver(tmp_path, COUNT, OTHER_ID, **settings)
        second.checkpoint()
        assert missing_files(tmp_path) == []
        assert golden(second.job.run_to_end())
        second.end(JobStatus.FINISHED)
        assert checkpoint_names(tmp_path) == ["chk-1"]


class TestOneBesideTheOther:
    def test_a_driver_that_wakes_up_late_commits_nothing_and_deletes_nothing(self, tmp_path: Path) -> None:
        first = InProcessDriver(tmp_path, COUNT)
        first.checkpoint()
        pending = first.begin_checkpoint()
        wait_until(lambda: first.job._answers.qsize() == len(first.job.slots), "its slots have written it")
        second = InProcessDriver(tmp_path, COUNT, OTHER_ID)
        second.checkpoint()
        with pytest.raises(JobFencedError, match="was taken over by process"):
            first.job.finish_checkpoint(pending)
        first.give_up_checkpoints()
        assert first.end(JobStatus.CANCELED) is JobStatus.SUSPENDED
        assert missing_files(tmp_path) == []
        assert golden(second.job.run_to_end())
        second.checkpoint()
        assert second.end(JobStatus.FINISHED) is JobStatus.FINISHED

    def test_a_checkpoint_that_was_noted_just_before_the_takeover_is_what_the_new_driver_goes_on_from(
        self, tmp_path: Path
    ) -> None:
        first = InProcessDriver(tmp_path, COUNT)
        noted = first.checkpoint()
        second = InProcessDriver(tmp_path, COUNT, OTHER_ID)
        assert completed_ids(second) == [noted]
        assert first.end(JobStatus.FINISHED) is JobStatus.SUSPENDED
        assert missing_files(tmp_path) == []
        second.kill()

    def discarding(self, directory: Path) -> list[str]:
        """Let a driver that does not know of the other give up a checkpoint that it had begun."""
        first = InProcessDriver(directory, COUNT)
        first.checkpoint()
        first.leave_checkpoint()
        second = InProcessDriver(directory, COUNT, OTHER_ID)
        second.checkpoint()
        assert not first.master._ownership.fenced
        first.give_up_checkpoints()
        missing = missing_files(directory)
        first.kill()
        second.kill()
        return missing

    def test_giving_up_a_checkpoint_touches_no_other_drivers(self, tmp_path: Path) -> None:
        assert self.discarding(tmp_path) == []

    def test_without_reserved_ids_it_would(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Show that the test above would notice."""
        take_over = job_master_module.take_over

        def next_id(*arguments: Any) -> Takeover:
            taken = take_over(*arguments)
            first_id = taken.completed[-1].checkpoint_id + 1 if taken.completed else 1
            return Takeover(taken.settings, taken.ownership, taken.completed, first_id)

        monkeypatch.setattr(job_master_module, "take_over", next_id)
        assert len(self.discarding(tmp_path)) == 1

    def test_local_disks_are_not_shared(self, tmp_path: Path) -> None:
        first, second = InProcessDriver(tmp_path, COUNT), InProcessDriver(tmp_path, COUNT, OTHER_ID)
        assert first.master.settings.local_name != second.master.settings.local_name
        first.kill()
        second.kill()

    @pytest.mark.parametrize("cancelled", [False, True])
    def test_a_failure_after_a_takeover_is_followed_by_no_restart(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cancelled: bool
    ) -> None:
        first = InProcessDriver(tmp_path, COUNT)
        first.checkpoint()
        ended: list[bool] = []

        class LosesTheJob:
            damage = None
            last_readings = NO_READINGS

            def __init__(self, *arguments: Any) -> None:
                pass

            def run(self) -> None:
                second = InProcessDriver(tmp_path, COUNT, OTHER_ID)
                second.checkpoint()
                second.kill()
                if cancelled:
                    first.master._cancelled.set()
                raise RuntimeError("the slots are gone")

            def stop(self, job_over: bool, *_: Any) -> None:
                ended.append(job_over)
                first.give_up_checkpoints()

        monkeypatch.setattr(job_master_module, "Attempt", LosesTheJob)
        monkeypatch.setattr(takeover_module, "_running", frozenset())
        monkeypatch.setattr(Takeover, "begin", lambda self: None)
        monkeypatch.setattr(Takeover, "end", lambda self: None)
        first.master.start()
        with pytest.raises(JobFencedError, match="was taken over by process") as raised:
            first.master.result.result(60)
        assert raised.value.__cause__ is None, "what followed from it is not told"
        assert (first.master.status, ended) == (JobStatus.SUSPENDED, [True])
        assert missing_files(tmp_path) == []
        first.kill()

    def test_a_driver_looks_now_and_then_whether_it_still_owns_the_job(self, tmp_path: Path) -> None:
        first = InProcessDriver(tmp_path, COUNT)
        io, events = CheckpointIO("a job"), list[Any]()
        attempt: Any = SimpleNamespace(
            _look_at=0.0,
            _shared=SimpleNamespace(
                ownership=first.master._ownership, settings=SimpleNamespace(heartbeat_ms=3_600_000), io=io
            ),
            _writer=first.executor._writer,
            _events=SimpleNamespace(put=events.append),
        )

        attempt._do = lambda work: Attempt._do(attempt, work)
        attempt._check_owner = lambda: Attempt._check_owner(attempt)

        def look() -> None:
            Attempt._look_at_owner(attempt)
            io.settle()

        look()
        InProcessDriver(tmp_path, COUNT, OTHER_ID).kill()
        look()  # not so soon again
        assert events == []
        attempt._look_at = 0.0
        look()
        [failed] = events
        assert isinstance(failed.error, JobFencedError)
        assert failed.primary
        io.close()
        first.kill()

    def test_a_driver_without_checkpoints_makes_no_output_visible_after_a_takeover(self, tmp_path: Path) -> None:
        first, second = InProcessDriver(tmp_path, COUNT), InProcessDriver(tmp_path, COUNT, OTHER_ID)
        subject = machine(ends_with_checkpoint=False, logged=True)
        assert subject.handle(1, EpochEnded(1, finished=True)) == [NoteOutput()]
        with pytest.raises(JobFencedError):
            first.executor._writer.note_output()
        assert subject.handle(2, second.executor._writer.note_output()) == [TellSlots(CommitFinal(1))]
        first.kill()
        second.kill()


class TestWhatCannotBeTakenOver:
    def test_a_job_of_this_process(self, tmp_path: Path) -> None:
        first = InProcessDriver(tmp_path, COUNT)
        first.master._takeover.begin()
        with pytest.raises(ConfigurationError, match="'a job' runs in this process already"):
            InProcessDriver(tmp_path, COUNT, OTHER_ID)
        assert latest_entry(tmp_path).number == 1, "it was taken from nobody"
        first.master._takeover.end()
        InProcessDriver(tmp_path, COUNT, OTHER_ID).kill()
        first.kill()

    def test_a_program_that_does_not_fit_takes_the_job_from_nobody(self, tmp_path: Path) -> None:
        first = InProcessDriver(tmp_path, COUNT)
        first.checkpoint()
        with pytest.raises(StateRestoreError, match="holds state of operators that the program does not have"):
            InProcessDriver(tmp_path, COUNT, OTHER_ID, uid="another")
        first.checkpoint()
        first.end(JobStatus.FINISHED)

    def test_a_checkpoint_that_cannot_be_read_for_now_takes_the_job_from_nobody(self, tmp_path: Path) -> None:
        first = InProcessDriver(tmp_path, COUNT)
        first.checkpoint()
        place = Path(latest_entry(tmp_path).checkpoints[-1].location)
        place.rename(tmp_path / "not mounted")
        with pytest.raises(StateRestoreError, match=r"checkpoint 1, .* cannot be read"):
            InProcessDriver(tmp_path, COUNT, OTHER_ID)
        (tmp_path / "not mounted").rename(place)
        first.checkpoint()
        first.end(JobStatus.FINISHED)

    @pytest.mark.parametrize("fallback", [False, True])
    def test_a_damaged_checkpoint_is_an_error_or_replaced_by_the_one_before(
        self, tmp_path: Path, fallback: bool
    ) -> None:
        settings = {
            "execution_checkpointing_num__retained": "2",
            "execution_state__recovery_fallback__to__earlier": str(fallback).lower(),
        }
        first = InProcessDriver(tmp_path, COUNT, **settings)
        first.checkpoint()
        first.checkpoint()
        first.kill()
        (metadata,) = tmp_path.glob("checkpoints/*/chk-2/_metadata")
        metadata.write_bytes(metadata.read_bytes()[:-1])
        if not fallback:
            with pytest.raises(CheckpointCorruptError, match=r"chk-2/_metadata.*fallback-to-earlier to true"):
                InProcessDriver(tmp_path, COUNT, OTHER_ID, **settings)
            return
        second = InProcessDriver(tmp_path, COUNT, OTHER_ID, **settings)
        assert completed_ids(second) == [1]
        assert golden(second.job.run_to_end())
        second.kill()

    def test_a_checkpoint_that_is_gone_is_an_error_that_says_what_to_do(self, tmp_path: Path) -> None:
        first = InProcessDriver(tmp_path, COUNT)
        first.checkpoint()
        first.kill()
        next(tmp_path.glob("checkpoints/*/chk-1/_metadata")).unlink()
        with pytest.raises(
            StateRestoreError, match=r"checkpoint 1, .*/ha/default/.*To start the job from scratch, delete"
        ):
            InProcessDriver(tmp_path, COUNT, OTHER_ID)


class TestSettings:
    def settle(self, settings: dict[str, str], name: str = "job") -> JobSettings:
        env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
        return settle(JOB_ID, name, env._configuration, env._checkpoint_config, env._config)

    def test_it_is_off_unless_it_is_switched_on(self) -> None:
        assert self.settle({}).high_availability is None
        assert self.settle({"high-availability": "none"}).high_availability is None

    @pytest.mark.parametrize("key", ["high-availability", "high-availability.type"])
    def test_cluster_and_name_make_the_directory(self, tmp_path: Path, key: str) -> None:
        settings = {key: "FileSystem", "high-availability.storageDir": f"file://{tmp_path}"}
        settled = self.settle(settings | {"high-availability.cluster-id": "/prod"}, "word count").high_availability
        assert settled is not None
        assert settled.files.root == str(tmp_path)
        assert settled.directory.startswith("prod/word_count-")

    def test_a_directory_is_needed(self) -> None:
        with pytest.raises(ConfigurationError, match=r"set high-availability\.storageDir"):
            self.settle({"high-availability.type": "filesystem"})

    def test_checkpoints_must_not_be_in_memory(self, tmp_path: Path) -> None:
        settings = ha_settings(tmp_path)
        del settings["execution.checkpointing.dir"]
        with pytest.raises(ConfigurationError, match=r"in the driver's memory.*set execution\.checkpointing\.dir"):
            self.settle(settings)
        del settings["execution.checkpointing.interval"]
        assert self.settle(settings).high_availability is not None, "without checkpoints there is nothing to lose"

    def test_names_of_directories_are_safe_and_stay_different(self) -> None:
        names = ["a", "A b", "A/b", "A_b", "..", ".", "", "ü" * 300, "ü" * 301]
        made = [safe_name(name) for name in names]
        assert made[0] == "a"
        assert made[3] == "A_b"
        assert len(set(made)) == len(names)
        assert all("/" not in name and len(name) < 150 and name.strip(".") for name in made)

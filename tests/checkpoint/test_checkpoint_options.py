"""Every option of checkpoints, by its key: a test in which it decides the outcome.

From the configuration that a program or a file gives, through what is settled from it, to what coordinator, job master
or slots make of it. The clock is the test's.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rekindle.checkpoint import paths
from rekindle.checkpoint.coordinator import CheckpointCoordinator
from rekindle.checkpoint.events import CheckpointFailureReason, DropCompleted, FailJob, NotifyAborted
from rekindle.checkpoint.job_directory import JobCheckpointDirectory
from rekindle.checkpoint.metadata import CheckpointMetadata, StateHandle, StoredFile
from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.common import Configuration, ExecutionConfig, JobStatus
from rekindle.common.config_options import ConfigOption
from rekindle.config.accepted_options import AcceptedOptions
from rekindle.config.options import warn_unknown_keys
from rekindle.datastream import (
    ExternalizedCheckpointRetention,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from rekindle.datastream.checkpoint_config import CheckpointConfig
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.exceptions import ConfigurationError, InvalidProgramError
from rekindle.graph.compilation.compiler import compile_job
from rekindle.ha.ownership import JobOwnership
from rekindle.rest.checkpoints_json import checkpoint_config
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.master.attempts.attempt import attempt_settings
from rekindle.runtime.master.attempts.attempt_events import BeginEpoch, PlaceBarrier, Woken
from rekindle.runtime.master.attempts.attempt_machine import AttemptMachine
from rekindle.runtime.master.checkpoints.requested_checkpoints import RequestedCheckpoints
from rekindle.runtime.master.checkpoints.savepoints import Savepoints
from rekindle.runtime.master.checkpoints.stopping import Stopping
from rekindle.runtime.master.epochs.epoch_events import EpochEnded, EpochWaits
from rekindle.runtime.master.job_master import JobMaster
from rekindle.runtime.master.settings.job_settings import JobSettings, settle
from rekindle.runtime.master.views.progress import ProgressView
from rekindle.testing import InProcessCluster, ManualClock
from support.in_process_job import DeclinedError, InProcessJob, collect
from support.slot_snapshots import snapshot, stored

REASON = CheckpointFailureReason
PREFIX = "execution.checkpointing."
JOB = "0123456789abcdef0123456789abcdef"


def configured(**values: object) -> Configuration:
    """Return a configuration: the keys below execution.checkpointing with ``_`` for ``-``, others as they are."""
    configuration = Configuration()
    for name, value in ({"interval": "100 ms"} | values).items():
        key = name if "." in name else PREFIX + name.replace("_", "-")
        if value is not None:
            configuration.set_string(key, str(value))
    return configuration


def settled(**values: object) -> JobSettings:
    configuration = configured(**values)
    return settle(JOB, "name", configuration, CheckpointConfig(configuration), ExecutionConfig())


def coordinator(**values: object) -> CheckpointCoordinator:
    """Return the coordinator of a job with one slot."""
    return CheckpointCoordinator(settled(**values).checkpoints, frozenset({0}), 0, 1, 0)


def trigger(subject: CheckpointCoordinator, now: int, savepoint: bool = False) -> int:
    subject.trigger(now, 1, savepoint=savepoint)
    return subject.next_checkpoint_id - 1


def complete(subject: CheckpointCoordinator, now: int, checkpoint_id: int) -> list[Any]:
    subject.acknowledge(now, 0, checkpoint_id, 0, snapshot())
    return subject.metadata_written(now, checkpoint_id, stored(checkpoint_id))


def fail(subject: CheckpointCoordinator, now: int, checkpoint_id: int) -> list[Any]:
    return subject.decline(now, 0, checkpoint_id, 0, REASON.DECLINED, "disk full")


def kinds(instructions: list[Any], kind: type) -> int:
    return sum(isinstance(instruction, kind) for instruction in instructions)


# --------------------------------------------------------------------------------------------------------- when


def test_interval() -> None:
    assert not coordinator(interval="250 ms").trigger_due(249)
    assert coordinator(interval="250 ms").trigger_due(250)
    assert not coordinator(interval=None).trigger_due(10**9)
    subject = coordinator(interval=None)
    complete(subject, 20, trigger(subject, 10, savepoint=True))
    assert subject.statistics().counts.completed == 1, "savepoints are possible without"


def test_timeout() -> None:
    subject = coordinator(timeout="1 s", tolerable_failed_checkpoints=5)
    trigger(subject, 100)
    assert subject.expire(1_099) == []
    [aborted] = [each for each in subject.expire(1_100) if isinstance(each, NotifyAborted)]
    assert aborted.reason is REASON.EXPIRED


@pytest.mark.parametrize("ends", [complete, fail], ids=["after success", "after failure"])
def test_min_pause(ends: Any) -> None:
    for pause, due in (("0 ms", 200), ("1 s", 1_190)):
        subject = coordinator(min_pause=pause, tolerable_failed_checkpoints=5)
        ends(subject, 190, trigger(subject, 100))
        assert not subject.trigger_due(due - 1)
        assert subject.trigger_due(due)


def test_min_pause_after_one_that_expired() -> None:
    subject = coordinator(min_pause="1 s", timeout="50 ms", tolerable_failed_checkpoints=5)
    trigger(subject, 100)
    subject.expire(150)
    assert not subject.trigger_due(1_149)
    assert subject.trigger_due(1_150)


def test_max_concurrent_checkpoints() -> None:
    subject = coordinator()
    trigger(subject, 100)
    assert not subject.trigger_due(10_000)
    subject = coordinator(max_concurrent_checkpoints=2)
    trigger(subject, 100)
    assert subject.trigger_due(200)
    trigger(subject, 200)
    assert not subject.trigger_due(300)
    assert len(subject.pending_ids()) == 2
    trigger(subject, 300, savepoint=True)  # takes nobody's place
    complete(subject, 310, 2)
    assert subject.pending_ids() == (3,), "an older one is no longer wanted, the savepoint is"
    assert subject.trigger_due(310)


def test_min_pause_means_one_at_a_time() -> None:
    subject = coordinator(max_concurrent_checkpoints=3, min_pause="1 ms")
    trigger(subject, 100)
    assert not subject.trigger_due(10_000)


def test_mode() -> None:
    """Only at-least-once lets a barrier stand in the middle of an epoch of a job with exchanges."""
    for mode, triggered in (("EXACTLY_ONCE", 0), ("AT_LEAST_ONCE", 1)):
        machine = machine_of(mode=mode)
        assert machine.handle(0, EpochWaits(1)) == [BeginEpoch(1)]
        assert kinds(machine.handle(100, Woken()), PlaceBarrier) == triggered
        assert kinds(machine.handle(100, EpochEnded(1)), PlaceBarrier) == 1 - triggered, "between two epochs both do"


def machine_of(**values: object) -> AttemptMachine:
    """Return an attempt of a job with an exchange behind which state is."""
    environment = program()
    graph = compile_job(environment._graph, 2, None)
    settings = settled(**values)
    shared: Any = SimpleNamespace(settings=settings, graph=graph, ownership=JobOwnership(ManualClock()), collected=None)
    subject = CheckpointCoordinator(settings.checkpoints, frozenset({0, 1}), 0, 1, 0)
    return AttemptMachine(attempt_settings(shared, 0), subject, Savepoints(JOB), Stopping(), RequestedCheckpoints())


# ------------------------------------------------------------------------------------------------------- failures


@pytest.mark.parametrize("tolerable", [0, 1, 3])
def test_tolerable_failed_checkpoints(tolerable: int) -> None:
    subject = coordinator(tolerable_failed_checkpoints=tolerable)
    for failure in range(1, tolerable + 2):
        instructions = fail(subject, failure * 1_000 + 1, trigger(subject, failure * 1_000))
        assert kinds(instructions, FailJob) == (1 if failure > tolerable else 0)


def test_only_failures_in_a_row_are_counted_and_those_of_savepoints_are_not() -> None:
    subject = coordinator(tolerable_failed_checkpoints=1, timeout="500 ms")
    fail(subject, 1_001, trigger(subject, 1_000))
    complete(subject, 2_001, trigger(subject, 2_000))
    trigger(subject, 3_000)
    assert kinds(subject.expire(3_500), FailJob) == 0, "the success has reset the count"
    assert kinds(fail(subject, 4_001, trigger(subject, 4_000, savepoint=True)), FailJob) == 0
    trigger(subject, 5_000)
    assert kinds(subject.expire(5_500), FailJob) == 1, "one that expires counts like one that is declined"


@pytest.mark.parametrize(("fails", "expected"), [(True, 1), (False, 0)])
def test_set_fail_on_checkpointing_errors(fails: bool, expected: int) -> None:
    configuration = configured()
    config = CheckpointConfig(configuration).set_fail_on_checkpointing_errors(fails)
    options = settle(JOB, "name", configuration, config, ExecutionConfig()).checkpoints
    subject = CheckpointCoordinator(options, frozenset({0}), 0, 1, 0)
    assert kinds(fail(subject, 101, trigger(subject, 100)), FailJob) == expected


# ------------------------------------------------------------------------------------- where to, and for how long


@pytest.mark.parametrize("retained", [1, 3])
def test_num_retained(retained: int) -> None:
    subject = coordinator(num_retained=retained)
    dropped = 0
    for now in range(1_000, 6_000, 1_000):
        dropped += kinds(complete(subject, now, trigger(subject, now)), DropCompleted)
    assert [each.checkpoint_id for each in subject.completed()] == list(range(6 - retained, 6))
    assert dropped == 5 - retained


def test_the_old_key_of_num_retained() -> None:
    assert settled(**{"state.checkpoints.num-retained": 7}).checkpoints.num_retained == 7


def checkpointed(master: JobMaster, number: int) -> Path:
    """Complete a checkpoint of a job that does not run; give its directory."""
    files = master.settings.checkpoint_files
    assert files is not None
    Path(files.root, JOB, f"chk-{number}").mkdir(parents=True)
    Path(files.root, JOB, f"chk-{number}", "slot-0-0").write_bytes(b"x")
    metadata = metadata_of(number)
    location = master._checkpoints.commit(metadata)
    subject = master._coordinator
    subject.trigger(number * 1_000, 1)
    subject.acknowledge(number * 1_000, 0, number, 0, snapshot())
    for each in subject.metadata_written(number * 1_000, number, location):
        if isinstance(each, DropCompleted):
            master._checkpoints.drop(each.checkpoint.location, each.checkpoint.claimed)
    return Path(files.root, JOB, f"chk-{number}")


def metadata_of(number: int) -> CheckpointMetadata:
    handle = StateHandle(0, StoredFile(1, 0, path="slot-0-0"))
    return CheckpointMetadata(number, JOB, "name", 0, 0, [], [handle], [])


def master_of(**values: object) -> JobMaster:
    environment = program()
    graph = compile_job(environment._graph, 1, None)
    return JobMaster(InProcessCluster(), graph, settled(**values), ManualClock(), ProgressView("name"))


KEPT = {
    "NO_EXTERNALIZED_CHECKPOINTS": set(),
    "DELETE_ON_CANCELLATION": {JobStatus.FAILED},
    "RETAIN_ON_CANCELLATION": {JobStatus.FAILED, JobStatus.CANCELED},
}


@pytest.mark.parametrize("status", [JobStatus.FINISHED, JobStatus.CANCELED, JobStatus.FAILED])
@pytest.mark.parametrize("retention", KEPT)
def test_externalized_checkpoint_retention(tmp_path: Path, retention: str, status: JobStatus) -> None:
    master = master_of(dir=tmp_path, externalized_checkpoint_retention=retention, num_retained=2)
    for number in (1, 2, 3):
        checkpointed(master, number)
    master._clean_up(status)
    kept = {path.parent.name for path in tmp_path.glob(f"*/chk-*/{paths.METADATA}")}
    assert kept == ({"chk-2", "chk-3"} if status in KEPT[retention] else set())
    assert (tmp_path / JOB).exists() == bool(kept)


def test_every_retention_is_tried() -> None:
    assert set(KEPT) == {retention.name for retention in ExternalizedCheckpointRetention}


@pytest.mark.parametrize(("mode", "stays"), [("NO_CLAIM", True), ("CLAIM", False), ("LEGACY", True)])
def test_claim_mode(tmp_path: Path, mode: str, stays: bool) -> None:
    """What the job is started from is left alone, or is one of its own."""
    origin = tmp_path / "another job" / "chk-1"
    origin.mkdir(parents=True)
    (origin / "slot-0-0").write_bytes(b"x")
    JobCheckpointDirectory(LocalCheckpointFiles(str(tmp_path)), "another job").commit(metadata_of(1))
    keys = {"execution.state-recovery.path": str(origin), "execution.state-recovery.claim-mode": mode}
    master = master_of(dir=tmp_path / "own", **keys)
    assert origin.exists(), "until there is a newer one"
    checkpointed(master, 2)
    assert origin.exists() == stays
    master._clean_up(JobStatus.CANCELED)
    assert origin.exists() == stays


@pytest.mark.parametrize(("retention", "stays"), [("RETAIN_ON_CANCELLATION", True), ("DELETE_ON_CANCELLATION", False)])
def test_what_is_claimed_is_kept_or_deleted_like_the_jobs_own(tmp_path: Path, retention: str, stays: bool) -> None:
    origin = tmp_path / "another job" / "chk-1"
    origin.mkdir(parents=True)
    JobCheckpointDirectory(LocalCheckpointFiles(str(tmp_path)), "another job").commit(metadata_of(1))
    keys = {"execution.state-recovery.path": str(origin), "execution.state-recovery.claim-mode": "CLAIM"}
    master = master_of(dir=tmp_path / "own", externalized_checkpoint_retention=retention, **keys)
    master._clean_up(JobStatus.CANCELED)
    assert origin.exists() == stays


class Meeting(LocalCheckpointFiles):
    """A directory that notes how many files are being deleted at a time."""

    def __init__(self, root: str, patience: int) -> None:
        super().__init__(root)
        self.patience = patience
        self.lock = threading.Condition()
        self.at_once = self.most = 0

    def delete(self, path: str) -> None:
        with self.lock:
            self.at_once += 1
            self.most = max(self.most, self.at_once)
            self.lock.notify_all()
            if "slot" not in path and not path.endswith(paths.METADATA):
                self.lock.wait_for(lambda: self.most > 1, timeout=self.patience)
            self.at_once -= 1
        super().delete(path)


@pytest.mark.parametrize("parallel", [True, False])
def test_cleaner_parallel_mode(tmp_path: Path, parallel: bool) -> None:
    master = master_of(dir=tmp_path, num_retained=3, **{PREFIX + "cleaner.parallel-mode": parallel})
    files = Meeting(str(tmp_path), patience=30 if parallel else 0)
    master._checkpoints._files = files
    for number in (1, 2, 3):
        checkpointed(master, number)
    master._clean_up(JobStatus.FINISHED)
    assert list(tmp_path.iterdir()) == []
    assert (files.most > 1) == parallel


def test_history(tmp_path: Path) -> None:
    for key, expected in (("web.checkpoints.history", 2), ("jobmanager.web.checkpoints.history", 2), (None, 10)):
        subject = coordinator(**({} if key is None else {key: 2}))
        for now in range(1_000, 16_000, 1_000):
            complete(subject, now, trigger(subject, now))
        assert len(subject.statistics().history) == expected


# -------------------------------------------------------------------------------------------------- what is written


class Sum(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum"))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[int]:
        self.sum.update((self.sum.value() or 0) + value)
        yield self.sum.value()


def program() -> StreamExecutionEnvironment:
    environment = StreamExecutionEnvironment.get_execution_environment()
    stream = environment.from_collection(list(range(1_000))).uid("numbers")
    collect(stream.key_by(lambda value: value % 300).process(Sum()).uid("sum"))
    return environment


def job(settings: JobSettings) -> InProcessJob:
    """Run a program with what is settled."""
    return InProcessJob(
        program(),
        files=settings.checkpoint_files,
        inline_below=settings.inline_below,
        inline_limit=settings.memory_limit,
        asynchronous=settings.asynchronous_snapshots,
        backend=settings.backend,
        options=settings.checkpoints,
    )


def test_dir_and_storage(tmp_path: Path) -> None:
    for values, in_files, with_state in (
        ({"dir": tmp_path / "a"}, True, False),
        ({"state.checkpoints.dir": tmp_path / "b"}, True, False),
        ({"storage": "filesystem", "dir": tmp_path / "c"}, True, False),
        ({"storage": "jobmanager", "dir": tmp_path / "d"}, True, True),
        ({}, False, True),
    ):
        settings = settled(**values)
        with job(settings) as running:
            running.run_epoch(100)
            stored = running.checkpoint()
        assert (stored.external_path is not None) == in_files
        assert (settings.state_files is None) == with_state, "slots send their state to whoever writes the metadata"
        if in_files:
            assert Path(stored.external_path or "", paths.METADATA).exists()
    with pytest.raises(ConfigurationError, match=r"execution\.checkpointing\.dir"):
        settled(storage="filesystem")


def test_data_inline_threshold(tmp_path: Path) -> None:
    for threshold, in_metadata in (("0 bytes", False), ("1 mb", True)):
        with job(settled(dir=tmp_path / threshold, data_inline_threshold=threshold)) as running:
            running.run_epoch(100)
            [handle] = running.checkpoint().metadata.handles
        assert (handle.file.inline is not None) == in_metadata


def test_incremental(tmp_path: Path) -> None:
    for incremental in (False, True):
        values = {"dir": tmp_path / str(incremental), "incremental": incremental, "data_inline_threshold": "0 bytes"}
        with job(settled(**values)) as running:
            running.run_epoch(900)
            first = running.checkpoint().metadata
            running.run_epoch(3)
            second = running.checkpoint().metadata
        assert (second.written_size < first.written_size / 2) == incremental
        assert second.state_size >= first.state_size


def test_async() -> None:
    for asynchronous in (False, True):
        with job(settled(**{"state.backend.async": asynchronous})) as running:
            running.run_epoch(100)
            running.checkpoint()
            threads = running.slots[0]._snapshotter._uploads._threads
            assert bool(threads) == asynchronous, "an upload beside the next epochs needs a thread of its own"


def test_the_memory_of_the_job_master_is_limited() -> None:
    with job(settled(storage="jobmanager")) as running:
        last = next(node for node in running.slots[0]._graph if node.node.uid == "sum")
        last.operator.process(Chunk([1 << 8_000_000] * 12, None, list(range(12))))
        with pytest.raises(DeclinedError, match="the job master's memory takes at most"):
            running.checkpoint()


def test_force() -> None:
    for force in (None, "true"):
        environment = StreamExecutionEnvironment.get_execution_environment(configured(force=force))
        loop = environment.from_collection([3, 5]).iterate(100)
        loop.close_with(loop.map(lambda value: value - 1).filter(lambda value: value > 0))
        if force is None:
            with pytest.raises(InvalidProgramError, match=PREFIX + "force"):
                environment._compile()
        else:
            assert environment._compile().iterations


# ------------------------------------------------------------------------------------------------- without effect

OTHER_VALUES = {bool: lambda default: not default, float: lambda default: default + 1, int: lambda default: default + 1}
ACCEPTED = [
    option
    for option in vars(AcceptedOptions).values()
    if isinstance(option, ConfigOption) and option.key.startswith(PREFIX)
]


@pytest.mark.parametrize("option", ACCEPTED, ids=lambda option: option.key.removeprefix(PREFIX))
def test_what_has_nothing_to_do_is_known_and_changes_nothing(option: ConfigOption[Any]) -> None:
    value = "7 s" if option.default is None else OTHER_VALUES[type(option.default)](option.default)
    for key in option.all_keys():
        configuration = configured(**{key: value})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warn_unknown_keys(configuration)
        changed = settle(JOB, "name", configuration, CheckpointConfig(configuration), ExecutionConfig())
        for each in fields(JobSettings):
            if each.name not in ("restart_strategy", "configuration"):
                assert getattr(changed, each.name) == getattr(settled(), each.name), each.name
        assert checkpoint_config(changed) == checkpoint_config(settled())

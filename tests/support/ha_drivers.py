"""Drivers of one job without Spark: the job master's own checkpoints and log, with slots in the test's process."""

from __future__ import annotations

from pathlib import Path

from rekindle.checkpoint import paths
from rekindle.checkpoint.events import CheckpointFailureReason
from rekindle.checkpoint.metadata import decode_metadata
from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.common import Configuration, JobStatus
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.ha.entry import LogEntry
from rekindle.ha.log import JobLog
from rekindle.runtime.master.job_master import JobMaster
from rekindle.runtime.master.settings.job_settings import JobSettings, settle
from rekindle.runtime.master.views.progress import ProgressView
from rekindle.testing import InProcessCluster, ManualClock
from support.balances import Numbering, events, key_of
from support.checkpoint_executor import CheckpointExecutor
from support.in_process_job import JOB_ID, InProcessJob, collect

NAME = "a job"


def ha_settings(directory: Path, **changes: str) -> dict[str, str]:
    """Make the configuration of a driver; dots and hyphens of keys are written as _ and __."""
    return {
        "high-availability.type": "filesystem",
        "high-availability.storageDir": str(directory / "ha"),
        "execution.checkpointing.interval": "1 s",
        "execution.checkpointing.dir": f"file://{directory}/checkpoints",
        "execution.checkpointing.data-inline-threshold": "0",
        **{key.replace("__", "-").replace("_", "."): value for key, value in changes.items()},
    }


def job_log(directory: Path) -> JobLog:
    """Open the log of the job."""
    name = next(iter((directory / "ha" / "default").iterdir())).name
    return JobLog(LocalCheckpointFiles(str(directory / "ha")), f"default/{name}")


def latest_entry(directory: Path) -> LogEntry:
    """Read the highest entry of the job's log."""
    entry = job_log(directory).latest()
    assert entry is not None
    return entry


class InProcessDriver:
    PARALLELISM = 2

    """Own the job until told otherwise.

    Args:
        directory: Where checkpoints and log are.
        count: How many events there are.
        job_id: What the job would be called if it was new.
        uid: Of the stateful operator.
        settings: Changes of the configuration.
    """

    def __init__(
        self, directory: Path, count: int, job_id: str = JOB_ID, uid: str = "numbering", **settings: str
    ) -> None:
        self._directory = directory
        env = StreamExecutionEnvironment.get_execution_environment(
            Configuration.from_dict(ha_settings(directory, **settings))
        )
        env.set_parallelism(self.PARALLELISM)
        collect(events(env, count).key_by(key_of).process(Numbering()).uid(uid))
        self.clock = ManualClock()
        settled: JobSettings = settle(
            job_id, NAME, env._configuration, env._checkpoint_config, env._config, env._state_backend
        )
        self.master = JobMaster(InProcessCluster(), env._compile(), settled, self.clock, ProgressView(NAME))
        self.master._sweep_after_takeover()
        latest = self.master._coordinator.latest_completed()
        self.restored = stored = None if latest is None else latest.location
        self.job = InProcessJob(
            self.master._graph,
            files=self.master.settings.checkpoint_files,
            restore=stored,
            own=latest is not None and not latest.savepoint,
            clock=self.clock,
            backend=self.master.settings.backend,
        )
        self.job.coordinator = self.master._coordinator
        self.executor = self.job._executor = CheckpointExecutor(
            self.master.settings,
            self.master._graph,
            self.clock,
            self.job.broadcast,
            self.master._checkpoints,
            self.master._savepoints,
            self.master._ownership,
        )

    def begin_checkpoint(self) -> int:
        """Begin a checkpoint; the slots write it, and nobody has taken note of that yet."""
        self.master._ownership.reserve(self.job.coordinator.next_checkpoint_id)
        return self.job.begin_checkpoint()

    def leave_checkpoint(self) -> int:
        """Begin a checkpoint that is written, and that nobody ever takes note of."""
        checkpoint_id = self.begin_checkpoint()
        for _ in self.job.slots:
            self.job._answers.get(timeout=30)
        return checkpoint_id

    def checkpoint(self, records: int = 100) -> int:
        """Run an epoch, take a checkpoint, and return its id."""
        self.job.run_epoch(records)
        return self.job.finish_checkpoint(self.begin_checkpoint()).metadata.checkpoint_id

    def give_up_checkpoints(self) -> None:
        """Abort what is under way, as at the end of an attempt."""
        coordinator = self.job.coordinator
        self.executor.run(coordinator, coordinator.abort_all(0, CheckpointFailureReason.JOB_FAILED))

    def final_savepoint(self, directory: Path) -> int:
        """Take the savepoint that the job is stopped with; return its id."""
        coordinator = self.job.coordinator
        checkpoint_id = coordinator.next_checkpoint_id
        self.master._savepoints.request(str(directory))
        assert self.master._savepoints.begin(checkpoint_id)
        trigger = coordinator.trigger(self.clock.now(), self.job._epoch, savepoint=True, final=True)
        self.executor.run(coordinator, trigger)
        self.job.finish_checkpoint(checkpoint_id)
        return checkpoint_id

    def kill(self) -> None:
        """Be gone without a word."""
        self.job.close()

    def end(self, status: JobStatus) -> JobStatus:
        """End the job; return what becomes of it."""
        self.job.close()
        status, _ = self.master._note_end(status, None)
        self.master._clean_up(status)
        return status


def missing_files(directory: Path) -> list[str]:
    """List what the completed checkpoints in the log refer to and is not there."""
    missing = []
    for reference in latest_entry(directory).checkpoints:
        above, _, name = reference.location.rpartition("/")
        files = LocalCheckpointFiles(above)
        metadata = Path(reference.location, paths.METADATA)
        if not metadata.exists():
            missing.append(str(metadata))
            continue
        for handle in decode_metadata(metadata.read_bytes(), str(metadata)).handles:
            needed = [paths.resolve(name, file.path) for file in handle.files() if file.path is not None]
            missing += [path for path in needed if not Path(files.root, path).exists()]
    return missing

"""Everything a job is run with, settled from program and configuration before it starts."""

from __future__ import annotations

import logging
import random
from dataclasses import dataclass, field

from rekindle.checkpoint.crash_records import CrashRecordSettings, StateCopies
from rekindle.checkpoint.options import CheckpointOptions
from rekindle.checkpoint.restoring import Consent
from rekindle.checkpoint.settings.checkpoint_config import CheckpointConfig
from rekindle.checkpoint.settings.checkpoint_storage import (
    CheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)
from rekindle.checkpoint.settings.state_backend import StateBackend
from rekindle.checkpoint.storage import CheckpointFiles
from rekindle.config.configuration import Configuration
from rekindle.config.execution_config import ExecutionConfig
from rekindle.config.options import (
    CheckpointingOptions,
    CrashRecordOptions,
    HeartbeatOptions,
    JobManagerOptions,
    PipelineOptions,
    RekindleOptions,
    RestOptions,
    StateRecoveryOptions,
)
from rekindle.contracts.checkpointing_mode import CheckpointingMode
from rekindle.contracts.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from rekindle.exceptions import ConfigurationError
from rekindle.runtime.master.restarts.restart_strategies import RestartStrategy, restart_strategy_for
from rekindle.runtime.master.settings.ha_settings import HighAvailabilitySettings, settle_high_availability
from rekindle.runtime.master.settings.query_settings import settle_queries
from rekindle.runtime.master.settings.signal_action import SignalAction, settle_signal_action
from rekindle.runtime.master.settings.state_settings import (
    settle_asynchronous,
    settle_backend,
    settle_savepoint_directory,
    settle_storage,
)
from rekindle.runtime.queries.settings import QuerySettings
from rekindle.state.backend_settings import BackendSettings

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class JobSettings:
    """Hold the settings of one execution."""

    job_id: str
    job_name: str
    checkpoints: CheckpointOptions
    checkpoint_files: CheckpointFiles | None  # where metadata goes; None: the job master's memory
    memory_limit: int
    inline_below: int
    asynchronous_snapshots: bool
    compressed_snapshots: bool
    retention: ExternalizedCheckpointRetention
    restore_path: str | None
    consent: Consent  # to dropping what the program has no place for
    restart_strategy: RestartStrategy
    control_port: int
    heartbeat_ms: int
    heartbeat_timeout_ms: int
    orphan_timeout_ms: int
    epoch_max_ms: int
    epoch_max_records: int
    job_parameters: dict[str, str]
    backend: BackendSettings = field(default_factory=BackendSettings)
    savepoint_directory: str | None = None
    fallback_to_earlier: bool = False
    claim: bool = False
    parallel_clean_up: bool = True
    batch: bool = False
    exception_history_size: int = 16
    show_records: bool = True
    crash_records: CrashRecordSettings | None = None
    queries: QuerySettings | None = None  # None: state cannot be queried
    high_availability: HighAvailabilitySettings | None = None
    watermark_interval_ms: int = 200
    signal_action: SignalAction = SignalAction.CANCEL
    archived_jobs: int = 100
    history_jobs: int = 50
    configuration: Configuration = field(default_factory=Configuration, repr=False)  # as of the submission of the job
    state_in_metadata: bool = False  # slots send their state to the job master, wherever it puts the metadata
    driver_number: int | None = None  # with high availability: the entry of the log with which this driver took over

    @property
    def local_name(self) -> str:
        """Name what is on local disks: no two drivers of one job share anything there."""
        return self.job_id if self.driver_number is None else f"{self.job_id}-{self.driver_number}"

    @property
    def state_files(self) -> CheckpointFiles | None:
        """Return where slots put their state; None: they send it to the job master."""
        return None if self.state_in_metadata else self.checkpoint_files

    @property
    def epoch_target_ms(self) -> int:
        """Return how long an epoch should last: no longer than checkpoints are apart."""
        return min(self.epoch_max_ms, self.checkpoints.interval_ms or self.epoch_max_ms)

    @property
    def checkpointing(self) -> bool:
        """Return whether there are periodic checkpoints."""
        return self.checkpoints.interval_ms is not None

    @property
    def ends_with_checkpoint(self) -> bool:
        """Return whether output becomes visible with a last checkpoint: nothing is then lost or written twice.

        That of a batch job holds what its sinks have to commit, and nothing else.
        """
        return self.checkpointing or self.batch


def settle(
    job_id: str,
    job_name: str,
    configuration: Configuration,
    checkpoint_config: CheckpointConfig,
    execution_config: ExecutionConfig,
    state_backend: StateBackend | None = None,
    batch: bool = False,
) -> JobSettings:
    """Read all settings; a value that cannot work raises here, before anything starts."""
    enabled = checkpoint_config.is_checkpointing_enabled() and not batch
    storage = settle_storage(state_backend, configuration, checkpoint_config)
    restore_path = configuration.get(StateRecoveryOptions.SAVEPOINT_PATH)
    if restore_path is not None and not restore_path.strip():
        raise ConfigurationError(
            f"{StateRecoveryOptions.SAVEPOINT_PATH.key} is empty: did the command that should print the path fail? "
            "Unset it to start without state"
        )
    if batch:
        storage = JobManagerCheckpointStorage()
        if restore_path is not None:
            raise ConfigurationError(
                f"{StateRecoveryOptions.SAVEPOINT_PATH.key} is {restore_path!r}, and a batch job always begins at its "
                "beginning: unset it, or set execution.runtime-mode to STREAMING"
            )
    files, retention = storage.open_files(), checkpoint_config.get_externalized_checkpoint_retention()
    if enabled and files is None and retention is ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION:
        log.warning(
            "%s is RETAIN_ON_CANCELLATION, and checkpoints are kept in the driver's memory: none will be left to start "
            "from. Set %s to have them in files",
            CheckpointingOptions.EXTERNALIZED_CHECKPOINT_RETENTION.key,
            CheckpointingOptions.CHECKPOINTS_DIRECTORY.key,
        )
    high_availability = settle_high_availability(configuration, job_name, enabled and files is None)
    savepoint_directory = settle_savepoint_directory(state_backend, configuration)
    return JobSettings(
        job_id=job_id,
        job_name=job_name,
        checkpoints=CheckpointOptions(
            interval_ms=checkpoint_config.get_checkpoint_interval() if enabled else None,
            mode_exactly_once=checkpoint_config.get_checkpointing_mode() is CheckpointingMode.EXACTLY_ONCE,
            timeout_ms=checkpoint_config.get_checkpoint_timeout(),
            min_pause_ms=checkpoint_config.get_min_pause_between_checkpoints(),
            max_concurrent=checkpoint_config.get_max_concurrent_checkpoints(),
            tolerable_failures=checkpoint_config.get_tolerable_checkpoint_failure_number(),
            num_retained=configuration.get(CheckpointingOptions.NUM_RETAINED),
            history_size=configuration.get(CheckpointingOptions.HISTORY_SIZE),
        ),
        checkpoint_files=files,
        state_in_metadata=isinstance(storage, JobManagerCheckpointStorage),
        memory_limit=_memory_limit(storage),
        inline_below=_inline_below(storage, configuration),
        asynchronous_snapshots=settle_asynchronous(state_backend, configuration),
        compressed_snapshots=execution_config.is_use_snapshot_compression(),
        retention=retention,
        restore_path=restore_path,
        consent=Consent(
            unclaimed_state=configuration.get(StateRecoveryOptions.IGNORE_UNCLAIMED_STATE),
            uncommitted_output=configuration.get(StateRecoveryOptions.IGNORE_UNCOMMITTED_OUTPUT),
        ),
        restart_strategy=restart_strategy_for(
            execution_config.get_restart_strategy(), configuration, enabled, random.random, batch
        ),
        control_port=configuration.get(JobManagerOptions.RPC_PORT),
        heartbeat_ms=configuration.get(HeartbeatOptions.INTERVAL),
        heartbeat_timeout_ms=configuration.get(HeartbeatOptions.TIMEOUT),
        orphan_timeout_ms=configuration.get(RekindleOptions.SLOT_ORPHAN_TIMEOUT),
        epoch_max_ms=configuration.get(RekindleOptions.EPOCH_MAX_DURATION),
        epoch_max_records=configuration.get(RekindleOptions.EPOCH_MAX_RECORDS),
        job_parameters=_job_parameters(configuration) | execution_config.get_global_job_parameters(),
        backend=settle_backend(state_backend, configuration),
        savepoint_directory=savepoint_directory,
        fallback_to_earlier=configuration.get(StateRecoveryOptions.FALLBACK_TO_EARLIER),
        parallel_clean_up=configuration.get(CheckpointingOptions.CLEANER_PARALLEL_MODE),
        claim=configuration.get(StateRecoveryOptions.CLAIM_MODE) == "CLAIM",
        batch=batch,
        high_availability=high_availability,
        archived_jobs=configuration.get(RekindleOptions.ARCHIVED_JOBS),
        history_jobs=configuration.get(RekindleOptions.HISTORY_JOBS),
        configuration=Configuration().add_all(configuration),
        signal_action=settle_signal_action(configuration, high_availability is not None, savepoint_directory),
        exception_history_size=configuration.get(RestOptions.EXCEPTION_HISTORY_SIZE),
        watermark_interval_ms=execution_config.get_auto_watermark_interval(),
        show_records=configuration.get(RekindleOptions.SHOW_RECORDS),
        crash_records=_crash_records(files, configuration),
        queries=settle_queries(configuration),
    )


def _crash_records(files: CheckpointFiles | None, configuration: Configuration) -> CrashRecordSettings | None:
    """Return how crash records are written: only where checkpoints go, and where people may see records."""
    wanted = configuration.get(CrashRecordOptions.ENABLED) and configuration.get(RekindleOptions.SHOW_RECORDS)
    if files is None or not wanted:
        return None
    return CrashRecordSettings(
        files,
        configuration.get(CrashRecordOptions.MAX_NUMBER),
        configuration.get(CrashRecordOptions.MAX_SIZE),
        StateCopies(configuration.get(CrashRecordOptions.COPY_STATE)),
    )


def _job_parameters(configuration: Configuration) -> dict[str, str]:
    text = configuration.get(PipelineOptions.GLOBAL_JOB_PARAMETERS) or ""
    pairs = [pair.partition(":") for pair in text.split(",") if pair.strip()]
    for key, colon, _ in pairs:
        if not colon:
            raise ConfigurationError(
                f"{PipelineOptions.GLOBAL_JOB_PARAMETERS.key} is {text!r}, and {key!r} in it has no value; write "
                "key:value,key:value"
            )
    return {key.strip(): value.strip() for key, _, value in pairs}


def _memory_limit(storage: CheckpointStorage) -> int:
    if isinstance(storage, JobManagerCheckpointStorage):
        return storage.get_max_state_size()
    return JobManagerCheckpointStorage.DEFAULT_MAX_STATE_SIZE


def _inline_below(storage: CheckpointStorage, configuration: Configuration) -> int:
    if isinstance(storage, FileSystemCheckpointStorage) and storage.is_min_file_size_threshold_set():
        return storage.get_min_file_size_threshold()
    return configuration.get(CheckpointingOptions.MEMORY_THRESHOLD)

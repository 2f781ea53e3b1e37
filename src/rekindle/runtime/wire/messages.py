"""The messages between job master, slots and forwarders. All are msgpack; none carries code."""

from __future__ import annotations

import msgspec

from rekindle.checkpoint.metadata import CheckpointMetadata, StagedRows, StateHandle
from rekindle.checkpoint.slot_snapshot import OperatorSnapshot, SlotSnapshot
from rekindle.metrics.slot_metrics import MetricValue
from rekindle.runtime.iteration_phase import IterationPhase
from rekindle.runtime.wire.state_locations import ServerAddress, StateLocation


class _Message(msgspec.Struct, frozen=True, tag=True):
    pass


# --- job master → slot ---------------------------------------------------------------------------------------------


class IterationOrder(msgspec.Struct, frozen=True, array_like=True):
    """Say what an iteration does in an epoch. ``round`` counts from 1, where there are rounds."""

    head: int
    phase: IterationPhase
    round: int = 0


class RestoreOrder(msgspec.Struct, frozen=True):
    """Say what to restore. ``directory`` is that of the metadata, below ``root``; None: where the job keeps its own.

    ``own``: it is of this very job, whose next checkpoints may refer to its files.
    """

    metadata: CheckpointMetadata
    root: str | None
    directory: str
    own: bool


class OpenJob(_Message, frozen=True):
    """Restore state, and open the functions; the first order of all. Answered by Ready."""

    restore: RestoreOrder | None
    proxy_ports: list[int] = []  # where the slots of the attempt before let their state be queried


class BeginEpoch(_Message, frozen=True):
    """Open an epoch. Records of it are taken only after this."""

    epoch: int
    now: int
    ended_sources: list[int]  # nodes of Spark sources that have no more records after this epoch
    max_records: int  # how many the hosted sources of a slot may read
    iterations: list[IterationOrder] = []
    drain: bool = False  # all sources end where they stand, as if there were no more input
    spark_tasks: int = 0  # in how many tasks Spark reads its sources; 0: nobody knows
    splits: dict[int, list[tuple[str, int]]] = {}  # the open splits of sources, by node, where they have changed


class EndEpoch(_Message, frozen=True):
    """Close an epoch: all its records have been processed. Answered by EpochReport."""

    epoch: int


class TriggerSnapshot(_Message, frozen=True):
    """Take a snapshot now.

    ``base_id`` is the completed checkpoint that an incremental one may build on. With ``savepoint``, the directory to
    write to, the snapshot is whole, in the format that every backend reads, and builds on nothing.
    """

    checkpoint_id: int
    epoch: int
    base_id: int | None = None
    savepoint: str | None = None
    timestamp: int = 0  # when the checkpoint was triggered


class NotifyComplete(_Message, frozen=True):
    """Say that a checkpoint is complete. Answered by CommitDone.

    Only a ``restore_point`` lets sinks commit: after a failure the job goes back to before a savepoint taken in
    passing, and what was committed for it would be written twice. For such a savepoint sinks keep what is pending.
    """

    checkpoint_id: int
    restore_point: bool = True


class NotifyAborted(_Message, frozen=True):
    """Say that a checkpoint will never complete."""

    checkpoint_id: int


class CommitFinal(_Message, frozen=True):
    """Make all output visible: the job ends and has no checkpoints. Answered by CommitDone with id 0.

    ``version`` is the checkpoint that rows for the driver count as prepared for.
    """

    version: int = 0


class AskMetrics(_Message, frozen=True):
    """Ask what a slot counts and measures. Answered by MetricsReport with the same number."""

    request: int


class StateLocations(_Message, frozen=True):
    """Say where queryable states are: which there are, and where the slots, by their numbers, answer queries."""

    servers: list[ServerAddress]
    states: list[StateLocation]


class Heartbeat(_Message, frozen=True):
    """Say that one is alive; goes both ways."""


class Shutdown(_Message, frozen=True):
    """End the slot. ``job_over``: no other attempt will need what it keeps on local disk."""

    job_over: bool = False


# --- slot → job master ---------------------------------------------------------------------------------------------


class Register(_Message, frozen=True):
    """Introduce a slot, as the first message on its control connection, before it loads any code of the user's.

    Answered by a Heartbeat, if it is taken.
    """

    attempt: int
    slot: int
    pid: int
    host: str


class Ready(_Message, frozen=True):
    """Say that all operators are open and all state is restored, and where the tasks of the slot are served."""

    unix_name: str
    port: int
    address: str
    queries: ServerAddress | None = None  # where queries of state are answered, if they are


class StatePublished(_Message, frozen=True):
    """Say that a state of this slot can be queried."""

    location: StateLocation


class IterationReport(msgspec.Struct, frozen=True, array_like=True):
    """Sum up an iteration in one slot, at the end of an epoch."""

    head: int
    ended: bool  # nothing more comes into the loop from outside
    busy: bool  # an operator in the loop has more results
    fed_back: int  # how many records wait for the next round
    criterion: int  # how many records the termination criterion got in this round
    round: int


class EpochReport(_Message, frozen=True):
    """Sum up an epoch in one slot."""

    epoch: int
    records_in: int  # from sources of any kind
    records_polled: int  # of these, from hosted ones
    finished: bool  # every operator of this slot has seen the end of its input
    more: bool  # a hosted source has more records at once, or an operator more results
    now: int  # on the slot's clock
    next_timer: int | None  # likewise
    watermark: int
    busy_ms: int = 0  # how long the slot had work
    clock_set: int = 0  # by how many milliseconds the slot's clock was set since it reported last
    iterations: list[IterationReport] = []


class RequestEpoch(_Message, frozen=True):
    """Ask for an epoch: an operator has results or records that did not come from Spark."""


NOTICE = "notice"
"""The channel of lines that tell people about long work in a slot."""

PRINTED = "printed"
"""The channel of records that a program prints."""

COLLECTED = "collected"
"""The channel of records on their way to ``execute_and_collect``."""

STDOUT = "stdout"
"""The channel of what user code writes to its standard output."""

STDERR = "stderr"
"""The channel of what user code writes to its standard error."""


class Output(_Message, frozen=True):
    """Carry what a sink, or user code that prints, sends to the driver."""

    channel: str
    node: int
    data: bytes


class SnapshotDone(_Message, frozen=True):
    """Acknowledge a checkpoint: this slot's state is safe."""

    attempt: int
    checkpoint_id: int
    handle: StateHandle
    operators: list[OperatorSnapshot]
    start_delay_ms: int = 0  # from the trigger until the slot knew of it
    alignment_ms: int = 0  # from then until the slot was between two chunks

    def snapshot(self) -> SlotSnapshot:
        """Return what the checkpoint coordinator is to know of it."""
        return SlotSnapshot(self.handle, tuple(self.operators), self.start_delay_ms, self.alignment_ms)


class SnapshotFailed(_Message, frozen=True):
    """Decline a checkpoint."""

    attempt: int
    checkpoint_id: int
    reason: str
    curable: bool = True  # whether a restart may cure it: not state that cannot be written


class CommitDone(_Message, frozen=True):
    """Say that everything up to a checkpoint is committed.

    At the end of a job without checkpoints ``staged`` says what the driver has yet to commit, by the uid of the sink.
    """

    checkpoint_id: int
    staged: dict[str, list[StagedRows]] = {}
    accumulators: bytes = b""  # all of the slot's, pickled


class Rates(msgspec.Struct, frozen=True, array_like=True):
    """Say what one subtask of an operator did in a second, on average over the last ones."""

    records_in: float = 0.0
    records_out: float = 0.0
    bytes_in: float = 0.0
    bytes_out: float = 0.0
    busy_ms: float = 0.0
    back_pressured_ms: float = 0.0

    @property
    def idle_ms(self) -> float:
        """Return for how long it waited for records."""
        return max(0.0, 1000.0 - self.busy_ms - self.back_pressured_ms)


class OperatorNumbers(msgspec.Struct, frozen=True):
    """Say what one subtask of an operator has had and done in this attempt, and how far its time is.

    Bytes are those that cross exchanges, and those that come from Spark. ``all_bytes_in``: there is no other input,
    such as a call within the slot; ``all_bytes_out``: there is no other output.
    """

    uid: str
    operator: str
    subtask: int
    records_in: int
    records_out: int
    input_watermark: int
    output_watermark: int
    bytes_in: int = 0
    bytes_out: int = 0
    all_bytes_in: bool = False
    all_bytes_out: bool = False
    busy_ms: int = 0
    back_pressured_ms: int = 0
    idle_ms: int = 0
    rates: Rates = Rates()


class MetricsReport(_Message, frozen=True):
    """Tell what a slot counts and measures; ``left_out``: how many of the functions' metrics there are besides."""

    request: int
    operators: list[OperatorNumbers]
    metrics: list[MetricValue]
    left_out: int = 0


class SlotFailed(_Message, frozen=True):
    """Report the error that ends this attempt. ``operator`` is empty when it was not user code.

    Two failures with one ``identity`` are the same: the same class of error was raised in the same lines of the same
    operator, at the same record if it was raised at one.
    """

    operator: str
    subtask: int
    summary: str
    traceback: str
    kind: str = ""  # the class of the error in rekindle.exceptions, if it is one of Rekindle's own
    uid: str = ""  # of the operator, if the program gave it one
    record: str = ""  # the record or timer at which user code raised, if that is known and may be shown
    identity: str = ""


ToSlot = (
    OpenJob
    | BeginEpoch
    | EndEpoch
    | TriggerSnapshot
    | NotifyComplete
    | NotifyAborted
    | CommitFinal
    | AskMetrics
    | StateLocations
    | Heartbeat
    | Shutdown
)
ToMaster = (
    Register
    | Ready
    | EpochReport
    | RequestEpoch
    | Output
    | SnapshotDone
    | SnapshotFailed
    | CommitDone
    | MetricsReport
    | StatePublished
    | SlotFailed
    | Heartbeat
)

encode = msgspec.msgpack.encode
decode_to_slot = msgspec.msgpack.Decoder(ToSlot).decode
decode_to_master = msgspec.msgpack.Decoder(ToMaster).decode


# --- forwarder → slot ----------------------------------------------------------------------------------------------


class OpenTask(msgspec.Struct, frozen=True):
    """Announce the frames of one Spark task. ``source`` is the node of a Spark source, -1 elsewhere."""

    attempt: int
    epoch: int
    level: int
    partition: int
    task_attempt: int
    source: int = -1
    poll: bool = False


decode_open_task = msgspec.msgpack.Decoder(OpenTask).decode

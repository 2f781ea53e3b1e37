"""Connectors with one mistake each, as people make them, and right ones beside them."""

from __future__ import annotations

import threading
import uuid
from typing import Any

import msgspec

from rekindle.common import Types
from rekindle.datastream import SinkFunction
from rekindle.datastream.connectors import (
    CheckpointCommitter,
    GenericWriteAheadSink,
    Sink,
    SinkWriter,
    SinkWriterContext,
    TwoPhaseCommitSinkFunction,
)
from rekindle.datastream.functions import (
    CheckpointedFunction,
    CheckpointListener,
    ListCheckpointed,
    RichParallelSourceFunction,
    SourceFunction,
)
from rekindle.datastream.state import ListStateDescriptor

encode, decode = msgspec.msgpack.encode, msgspec.msgpack.decode


class Store:
    """What connectors write to: it outlives them. Each of its methods happens as a whole, or not at all."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.visible: list[Any] = []
        self.staged: dict[str, list[Any]] = {}
        self.names: set[Any] = set()

    def read(self) -> list[Any]:
        return list(self.visible)

    def append(self, values: list[Any]) -> None:
        self.visible += values

    def append_once(self, name: Any, values: list[Any]) -> None:
        if name not in self.names:
            self.names.add(name)
            self.visible += values

    def stage(self, name: str, values: list[Any]) -> None:
        self.staged.setdefault(name, []).extend(values)

    def publish(self, name: str) -> None:
        self.visible += self.staged.pop(name, [])

    def rename(self, old: str, new: str) -> None:
        if old in self.staged:
            self.staged[new] = self.staged.pop(old)


STORE = Store()


# --- sinks ---


class RightSink(Sink):
    """Stage records under a name, which is the committable; publish what is staged under it."""

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        return RightWriter(context)


class RightWriter(SinkWriter):
    def __init__(self, context: SinkWriterContext) -> None:
        self.prefix = f"{context.lineage}/"
        self.context = context
        self.name = self.new_name()
        self.used = False

    def new_name(self) -> str:
        return f"{self.prefix}{self.context.subtask}/{uuid.uuid4().hex}"

    def write(self, values: list[Any], timestamps: list[int | None] | None) -> None:
        STORE.stage(self.name, values)
        self.used = True

    def prepare_commit(self, checkpoint_id: int) -> list[bytes]:
        if not self.used:
            return []
        name, self.name, self.used = self.name, self.new_name(), False
        return [name.encode()]

    def commit(self, committables: list[bytes]) -> None:
        for committable in committables:
            name = committable.decode()
            STORE.publish(name)
            STORE.publish(f"{name} kept")

    def keep(self, committables: list[bytes]) -> None:
        for committable in committables:
            name = committable.decode()
            STORE.rename(name, f"{name} kept")

    def abort_leftovers(self) -> None:
        subtask, parallelism = self.context.subtask, self.context.parallelism
        for name in list(STORE.staged):
            old = name.removeprefix(self.prefix).partition("/")[0]
            if name.startswith(self.prefix) and not name.endswith(" kept") and int(old) % parallelism == subtask:
                del STORE.staged[name]

    def close(self) -> None: ...


class CommitsAgain(RightSink):
    """The records are the committable, and nobody remembers that they were committed."""

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        return CommitsAgainWriter(context)


class CommitsAgainWriter(RightWriter):
    def __init__(self, context: SinkWriterContext) -> None:
        super().__init__(context)
        self.values: list[Any] = []

    def write(self, values: list[Any], timestamps: list[int | None] | None) -> None:
        self.values += values

    def prepare_commit(self, checkpoint_id: int) -> list[bytes]:
        values, self.values = self.values, []
        return [encode(values)]

    def commit(self, committables: list[bytes]) -> None:
        for committable in committables:
            STORE.append(decode(committable))

    def keep(self, committables: list[bytes]) -> None: ...


class WritesAtOnce(RightSink):
    """What is written is visible."""

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        return WritesAtOnceWriter(context)


class WritesAtOnceWriter(RightWriter):
    def write(self, values: list[Any], timestamps: list[int | None] | None) -> None:
        STORE.append(values)


class KeepsInMemory(RightSink):
    """What is prepared is only in memory."""

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        return KeepsInMemoryWriter(context)


class KeepsInMemoryWriter(CommitsAgainWriter):
    def __init__(self, context: SinkWriterContext) -> None:
        super().__init__(context)
        self.prepared: dict[bytes, list[Any]] = {}

    def prepare_commit(self, checkpoint_id: int) -> list[bytes]:
        name = self.new_name().encode()
        self.prepared[name], self.values = self.values, []
        return [name]

    def commit(self, committables: list[bytes]) -> None:
        for committable in committables:
            STORE.append(self.prepared.pop(committable, []))


class NeedsItsMemory(RightSink):
    """A committable means something only to the writer that made it."""

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        return NeedsItsMemoryWriter(context)


class NeedsItsMemoryWriter(KeepsInMemoryWriter):
    def commit(self, committables: list[bytes]) -> None:
        for committable in committables:
            STORE.append(self.prepared.pop(committable))


class RemovesEverything(RightSink):
    """A writer that starts removes what is staged, whoever prepared it."""

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        return RemovesEverythingWriter(context)


class RemovesEverythingWriter(RightWriter):
    def abort_leftovers(self) -> None:
        STORE.staged.clear()


class ForgetsSavepoints(RightSink):
    """A writer that starts removes what a savepoint refers to."""

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        return ForgetsSavepointsWriter(context)


class ForgetsSavepointsWriter(RightWriter):
    def keep(self, committables: list[bytes]) -> None: ...


class LeavesLeftovers(RightSink):
    """Staged records have the name of their subtask, and those of a lost attempt are still there."""

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        return LeavesLeftoversWriter(context)


class LeavesLeftoversWriter(RightWriter):
    def __init__(self, context: SinkWriterContext) -> None:
        super().__init__(context)
        self.name = f"{self.prefix}{context.subtask}/now"

    def prepare_commit(self, checkpoint_id: int) -> list[bytes]:
        prepared = self.new_name()
        STORE.rename(self.name, prepared)
        return [prepared.encode()]

    def abort_leftovers(self) -> None: ...


class CommitsTheLast(RightSink):
    """Where several committables are committed at once, only the last one is."""

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        return CommitsTheLastWriter(context)


class CommitsTheLastWriter(RightWriter):
    def commit(self, committables: list[bytes]) -> None:
        super().commit(committables[-1:])


class CommitsLater(RightSink):
    """What is committed becomes visible with the next commit."""

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        return CommitsLaterWriter(context)


class CommitsLaterWriter(RightWriter):
    def __init__(self, context: SinkWriterContext) -> None:
        super().__init__(context)
        self.before: list[bytes] = []

    def commit(self, committables: list[bytes]) -> None:
        super().commit(self.before)
        self.before = committables


class NamesByCheckpoint(RightSink):
    """A commit is known by its subtask and checkpoint, which the next job has, too."""

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        return NamesByCheckpointWriter(context)


class NamesByCheckpointWriter(CommitsAgainWriter):
    def prepare_commit(self, checkpoint_id: int) -> list[bytes]:
        values, self.values = self.values, []
        return [encode((f"{self.context.subtask}-{checkpoint_id}", values))] if values else []

    def commit(self, committables: list[bytes]) -> None:
        for committable in committables:
            STORE.append_once(*decode(committable))


class CannotTravel(RightSink):
    """It has a lock from the beginning."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


class ShufflesSubtasks(RightSink):
    """Records of a subtask do not stay in their order."""

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        return ShufflesSubtasksWriter(context)


class ShufflesSubtasksWriter(CommitsAgainWriter):
    def prepare_commit(self, checkpoint_id: int) -> list[bytes]:
        values, self.values = self.values[::-1], []
        return [encode([self.new_name(), values])]

    def commit(self, committables: list[bytes]) -> None:
        for name, values in map(decode, committables):
            STORE.append_once(name, values)


class BufferingSink(SinkFunction, CheckpointedFunction):
    """Write in groups of three; what waits is state. At least once."""

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.state = store.get_list_state(ListStateDescriptor("waiting", Types.PICKLED_BYTE_ARRAY()))
        self.waiting = self.restored(list(self.state.get()))

    def restored(self, items: list[list[Any]]) -> list[Any]:
        return [value for item in items for value in item]

    def invoke(self, value: Any, context: SinkFunction.Context) -> None:
        self.waiting.append(value)
        if len(self.waiting) >= 3:
            STORE.append(self.waiting)
            self.waiting = []

    def snapshot_state(self, context: Any) -> None:
        self.state.update([self.waiting])

    def finish(self) -> None:
        STORE.append(self.waiting)
        self.waiting = []


class ForgetsOthersBuffers(BufferingSink):
    """It takes one item of its state, and gets several when there are fewer subtasks than before."""

    def restored(self, items: list[list[Any]]) -> list[Any]:
        return items[-1] if items else []


class ForgetsItsBuffer(BufferingSink):
    """What waits is not in the checkpoint."""

    def snapshot_state(self, context: Any) -> None: ...


class ForgetsAborted(SinkFunction, CheckpointedFunction, CheckpointListener):
    """Commit by itself when a checkpoint is complete; what an aborted one held is dropped."""

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.state = store.get_union_list_state(ListStateDescriptor("pending", Types.PICKLED_BYTE_ARRAY()))
        self.pending: dict[int, tuple[str, list[Any]]] = {}
        self.waiting: list[Any] = []
        for name, values in self.state.get():
            STORE.append_once(name, values)

    def invoke(self, value: Any, context: SinkFunction.Context) -> None:
        self.waiting.append(value)

    def snapshot_state(self, context: Any) -> None:
        self.pending[context.get_checkpoint_id()] = (uuid.uuid4().hex, self.waiting)
        self.waiting = []
        self.state.update(list(self.pending.values()))

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        for number in sorted(self.pending):
            if number <= checkpoint_id:
                STORE.append_once(*self.pending.pop(number))

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self.pending.pop(checkpoint_id, None)


class RightTransactions(TwoPhaseCommitSinkFunction[Any, str]):
    """A transaction is the name of what is staged."""

    def begin_transaction(self) -> str:
        return uuid.uuid4().hex

    def invoke(self, transaction: str, value: Any, context: SinkFunction.Context) -> None:
        STORE.stage(transaction, [value])

    def pre_commit(self, transaction: str) -> None: ...

    def commit(self, transaction: str) -> None:
        STORE.publish(transaction)

    def abort(self, transaction: str) -> None:
        STORE.staged.pop(transaction, None)


class NeverRecovers(RightTransactions):
    """Restored transactions are thought to be committed."""

    def recover_and_commit(self, transaction: str) -> None: ...


class CommitsOnlyOnce(RightTransactions):
    """A transaction that is committed already is an error."""

    def commit(self, transaction: str) -> None:
        if transaction not in STORE.staged:
            raise LookupError(f"no transaction {transaction}")
        STORE.publish(transaction)


class AbortsVisibly(RightTransactions):
    """A transaction that is aborted is closed like any other."""

    def abort(self, transaction: str) -> None:
        self.commit(transaction)


class NoCommitter(CheckpointCommitter):
    """Remember nothing."""

    def create_resource(self) -> None: ...
    def open(self) -> None: ...
    def close(self) -> None: ...
    def commit_checkpoint(self, subtask: int, checkpoint_id: int) -> None: ...
    def is_checkpoint_committed(self, subtask: int, checkpoint_id: int) -> bool:
        return False


class StoreCommitter(NoCommitter):
    """Remember in the store."""

    def commit_checkpoint(self, subtask: int, checkpoint_id: int) -> None:
        STORE.names.add((self.job_id, self.operator_id, subtask, checkpoint_id))

    def is_checkpoint_committed(self, subtask: int, checkpoint_id: int) -> bool:
        return (self.job_id, self.operator_id, subtask, checkpoint_id) in STORE.names


class OneJobsCommitter(NoCommitter):
    """Remember the checkpoints of each subtask, and not of which job."""

    def commit_checkpoint(self, subtask: int, checkpoint_id: int) -> None:
        STORE.names.add((subtask, checkpoint_id))

    def is_checkpoint_committed(self, subtask: int, checkpoint_id: int) -> bool:
        return (subtask, checkpoint_id) in STORE.names


class Appending(GenericWriteAheadSink):
    """Append what is sent: sending it again shows it again."""

    def send_values(self, values: list[Any], checkpoint_id: int, timestamp: int) -> bool:
        STORE.append(values)
        return True


class AppendingOnce(GenericWriteAheadSink):
    """Append what is sent under a name: sending it again changes nothing."""

    def send_values(self, values: list[Any], checkpoint_id: int, timestamp: int) -> bool:
        STORE.append_once(tuple(values), values)
        return True


# --- sources: every split is a list of numbers, and each subtask reads some of them ---

SPLITS, EACH = 5, 6
RECORDS = [(split, number) for split in range(SPLITS) for number in range(EACH)]


class RightSource(RichParallelSourceFunction, CheckpointedFunction):
    """Its state has an item for each split: which one, and how far it was read."""

    def __init__(self) -> None:
        self.is_running = True

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.state = store.get_list_state(ListStateDescriptor("splits", Types.TUPLE([Types.LONG(), Types.LONG()])))
        if context.is_restored():
            self.positions = dict(self.restored(list(self.state.get())))
        else:
            runtime = self.get_runtime_context()
            own = range(runtime.get_index_of_this_subtask(), SPLITS, runtime.get_number_of_parallel_subtasks())
            self.positions = dict.fromkeys(own, 0)

    def restored(self, items: list[Any]) -> list[Any]:
        return items

    def snapshot_state(self, context: Any) -> None:
        self.state.update(list(self.positions.items()))

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        for split in list(self.positions):
            while self.is_running and self.positions[split] < EACH:
                self.emit(ctx, split)

    def emit(self, ctx: SourceFunction.SourceContext, split: int) -> None:
        with ctx.get_checkpoint_lock():
            ctx.collect((split, self.positions[split]))
            self.positions[split] += 1

    def cancel(self) -> None:
        self.is_running = False


class AdvancesFirst(RightSource):
    """The position advances before the record is emitted, and nobody holds the lock."""

    def emit(self, ctx: SourceFunction.SourceContext, split: int) -> None:
        self.positions[split] += 1
        ctx.collect((split, self.positions[split] - 1))


class AdvancesLater(RightSource):
    """The position advances after the record was emitted, outside of the lock."""

    def emit(self, ctx: SourceFunction.SourceContext, split: int) -> None:
        with ctx.get_checkpoint_lock():
            ctx.collect((split, self.positions[split]))
        self.positions[split] += 1


class ForgetsOthersSplits(RightSource):
    """It takes only the splits that would be its own at the first start, and gets others when rescaled."""

    def restored(self, items: list[Any]) -> list[Any]:
        runtime = self.get_runtime_context()
        parallelism = runtime.get_number_of_parallel_subtasks()
        return [item for item in items if item[0] % parallelism == runtime.get_index_of_this_subtask()]


class StartsAgain(RightSource):
    """A subtask that gets no state thinks that it starts for the first time."""

    def restored(self, items: list[Any]) -> list[Any]:
        return items or [(0, 0)]


class HasNoState(SourceFunction):
    """It begins at the beginning, always."""

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        for number in range(EACH):
            ctx.collect(number)

    def cancel(self) -> None: ...


class NeverEnds(SourceFunction, ListCheckpointed):
    """It counts, and does not listen."""

    def __init__(self) -> None:
        self.number = 0

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        while True:
            with ctx.get_checkpoint_lock():
                ctx.collect(self.number)
                self.number += 1

    def cancel(self) -> None: ...

    def snapshot_state(self, checkpoint_id: int, timestamp: int) -> list[Any]:
        return [self.number]

    def restore_state(self, state: list[Any]) -> None:
        (self.number,) = state

"""Writes the files of a new savepoint: what Spark's tasks do after the shuffle, a file for each slot."""

from __future__ import annotations

import itertools
import pickle
import tempfile
import time
import uuid
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, BinaryIO, cast

import msgspec
import pyarrow as pa

from rekindle.base.clock import SystemClock
from rekindle.checkpoint.metadata import StoredFile
from rekindle.checkpoint.restoring import open_checkpoint
from rekindle.checkpoint.snapshot_file import SnapshotWriter
from rekindle.checkpoint.storage import CheckpointFiles, checkpoint_files
from rekindle.contracts.key_groups import key_group_range
from rekindle.contracts.state import StateDescriptor
from rekindle.exceptions import ConfigurationError
from rekindle.runtime.operators.keyed import KeyedContext
from rekindle.runtime.operators.operator_context import TaskInfo
from rekindle.runtime.operators.runtime_context import SlotRuntimeContext
from rekindle.state.block_encoding import BlockEncoder
from rekindle.state.blocks import RAW, RAW_STATE, KeyGroupBlock, StateSpec
from rekindle.state.heap.backend import HeapKeyedStateBackend
from rekindle.state.operator_state.encoding import EvolvingSerializer, encode_broadcast, encode_list
from rekindle.state.operator_state.stored import DistributionMode
from rekindle.state.snapshots import SnapshotRequest
from rekindle.state.state_owner import StateOwner
from rekindle.state.state_serializers import UNUSED
from rekindle.state_processor.bootstrap import KeyedStateBootstrapFunction
from rekindle.state_processor.contents import SnapshotContents, contents_of, cut
from rekindle.state_processor.keyed_state_reader import function_environment
from rekindle.state_processor.shipped_program import Program
from rekindle.state_processor.snapshot import Snapshot
from rekindle.types.type_serializer import TypeSerializer

Pairs = Iterator[tuple[int, list[Any]]]
"""Key groups, each with some pairs of key and value; rising."""

_COPIED_AT_ONCE = 64  # pieces in which the state of a carried operator is copied
_CHUNK = 1 << 20


class WrittenSlot(msgspec.Struct, frozen=True):
    """Say what was written for a slot: its file, and by operator the keyed states and the items of list states."""

    slot: int
    file: StoredFile
    keyed_states: dict[str, list[str]]
    list_items: dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True)
class StateStep:
    """Write a keyed state of the values that came.

    Attributes:
        spec: The state.
        descriptor: The state, as the job describes it.
        namespace: The serializer of its namespaces; None: it has none.
        shape: What a value is: all that the key has (``whole``), an ``element`` of its list, an ``entry`` of its map.
    """

    spec: StateSpec
    descriptor: StateDescriptor
    namespace: TypeSerializer[Any] | None
    shape: str

    def write(self, writing: OperatorWriting, pairs: Pairs) -> None:
        """Encode a block for each key group."""
        name = writing.owner.state(self.spec.name)
        namespace = UNUSED if self.namespace is None else self.namespace
        kind = self.spec.kind
        serializers = kind.serializers(self.descriptor, writing.plan.key_serializer, namespace)
        encoder = BlockEncoder(self.spec, serializers, serializers.stored(name))
        now = round(time.time() * 1000)
        for key_group, group in itertools.groupby(pairs, key=itemgetter(0)):
            entries: dict[Any, Any] = {}
            for _, some in group:
                for key, value in some:
                    self._take(entries, key, value)
            if self.spec.ttl:
                entries = {key: kind.shape.with_last_access(value, now) for key, value in entries.items()}
            if entries:
                writing.block(encoder.whole(key_group, list(entries), list(entries.values())))
        writing.keyed_states.add(self.spec.name)

    def _take(self, entries: dict[Any, Any], key: Any, value: Any) -> None:
        if self.spec.namespaced:
            namespace, value = value
            key = (key, namespace)
        if self.shape == "element":
            if value is not None:
                entries.setdefault(key, []).append(value)
        elif self.shape == "entry":
            entries.setdefault(key, {})[value[0]] = value[1]
        elif value is not None:
            if key in entries:
                raise ConfigurationError(
                    f"state {self.spec.name!r} has two rows for the key {key!r}, and it has one value: aggregate them "
                    "first"
                )
            entries[key] = value


@dataclass(frozen=True, slots=True)
class FunctionStep:
    """Let a function turn rows into the state of a backend, as in a job."""

    function: KeyedStateBootstrapFunction

    def write(self, writing: OperatorWriting, pairs: Pairs) -> None:
        """Run the function over the rows of the slot."""
        plan = writing.plan
        key_groups = key_group_range(writing.slot, plan.parallelism, plan.max_parallelism)
        now = round(time.time() * 1000)
        backend = HeapKeyedStateBackend(writing.owner, key_groups, plan.max_parallelism, lambda: now)
        keyed = KeyedContext(SystemClock(), backend)
        task = TaskInfo(plan.uid, plan.name, writing.slot, plan.parallelism, plan.max_parallelism)
        self.function.open(SlotRuntimeContext(function_environment(task), backend))
        try:
            process = self.function.process_element
            for _, some in pairs:
                for backend.key, row in some:
                    for _ in process(row, keyed) or ():
                        raise ConfigurationError(
                            "process_element of a bootstrap function yields nothing: it fills state"
                        )
        finally:
            self.function.close()
        for block in backend.snapshot(SnapshotRequest(0, canonical=True)).blocks():
            writing.block(block)
        writing.keyed_states.update(backend.state_names())
        for queue in (keyed.event_timers, keyed.processing_timers):
            for block in queue.snapshot_blocks(plan.max_parallelism):
                writing.block(block)
                writing.keyed_states.add(block.state)


@dataclass(frozen=True, slots=True)
class ListStep:
    """Write an operator state of the items that came."""

    name: str
    mode: DistributionMode
    serializers: tuple[TypeSerializer[Any], ...]

    def write(self, writing: OperatorWriting, pairs: Pairs) -> None:
        """Encode the items of the slot."""
        items = [item for _, some in pairs for item in some]
        name = writing.owner.state(self.name)
        evolving = [EvolvingSerializer(serializer, name) for serializer in self.serializers]
        if self.mode is DistributionMode.BROADCAST:
            stored = encode_broadcast(dict(items), *evolving)
        else:
            stored = encode_list(items, evolving[0], self.mode)
        writing.writer.operator_list(writing.plan.uid, self.name, stored)
        writing.list_items[self.name] = len(stored)


Step = StateStep | FunctionStep | ListStep


@dataclass(frozen=True, slots=True)
class OperatorPlan:
    """Say what becomes the state of an operator.

    Attributes:
        uid: Its uid in the new savepoint.
        name: Its name.
        parallelism: In how many parts its state is written.
        max_parallelism: The number of its key groups.
        key_serializer: Of its keys.
        steps: What is written of DataFrames.
        carried: Its uid in the savepoint that is changed; None: nothing is taken over.
        left_out: The states that are not taken over, because they are written anew.
    """

    uid: str
    name: str
    parallelism: int
    max_parallelism: int
    key_serializer: TypeSerializer[Any]
    steps: tuple[Step, ...] = ()
    carried: str | None = None
    left_out: frozenset[str] = frozenset()


@dataclass(slots=True)
class OperatorWriting:
    """Write what one operator has in one slot."""

    plan: OperatorPlan
    slot: int
    writer: SnapshotWriter
    keyed_states: set[str] = field(default_factory=set)
    list_items: dict[str, int] = field(default_factory=dict)

    @property
    def owner(self) -> StateOwner:
        """Return the operator, as backends know it."""
        return StateOwner(self.plan.name, self.plan.uid, self.plan.key_serializer)

    def block(self, block: KeyGroupBlock) -> None:
        """Write a block."""
        self.writer.keyed(self.plan.uid, block)

    def carry(self, contents: SnapshotContents) -> None:
        """Take over what the slot had in the savepoint that is changed."""
        assert self.plan.carried is not None
        operator = contents.snapshot.operator(self.plan.carried)
        if self.slot >= operator.parallelism:
            return
        written = key_group_range(self.slot, operator.parallelism, operator.max_parallelism)
        for piece in cut(written, _COPIED_AT_ONCE) if operator.keyed_states else ():
            found = contents.blocks(operator, self.slot, piece)
            for block in (*found.blocks, *found.timers):
                if block.state not in self.plan.left_out:
                    self.block(block)
            for key_group, data in found.raw:
                self.block(KeyGroupBlock(RAW_STATE, RAW, key_group, 1, data))
        for name in operator.list_states:
            stored = contents.reader.list_of(operator.uid, name, self.slot)
            if stored is not None and name not in self.plan.left_out:
                self.writer.operator_list(self.plan.uid, name, stored)
                self.list_items[name] = len(stored)
        self.keyed_states.update(name for name in operator.keyed_states if name not in self.plan.left_out)


@dataclass(frozen=True, slots=True)
class WriteSlots:
    """Write the files of slots: rows come sorted by slot, operator, step and key group, at least one for each slot.

    Attributes:
        plans: The operators, pickled; rows name them by their number.
        target: The directory of the savepoint.
        source: The directory of the savepoint that is changed; None: there is none.
        program: What there is of the user's program.
    """

    plans: bytes
    target: str
    source: str | None
    program: Program

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run as the function of ``mapInArrow``."""
        self.program.unpack()
        plans: list[OperatorPlan] = pickle.loads(self.plans)
        rows = (row for batch in batches for row in zip(*(column.to_pylist() for column in batch.columns), strict=True))
        for slot, own in itertools.groupby(rows, key=itemgetter(0)):
            written = self.write(slot, plans, own)
            yield pa.RecordBatch.from_pydict({"written": [msgspec.msgpack.encode(written)]})

    def write(
        self, slot: int, plans: list[OperatorPlan], rows: Iterable[tuple[int, int, int, int, bytes]]
    ) -> WrittenSlot:
        """Write the file of one slot."""
        with tempfile.TemporaryFile("w+b", _CHUNK) as unnamed:
            buffer = cast(BinaryIO, unnamed)
            writer = SnapshotWriter(buffer)
            by_number = {
                number: OperatorWriting(plan, slot, writer)
                for number, plan in enumerate(plans)
                if slot < plan.parallelism
            }
            writings = list(by_number.values())
            self._carry(writings)
            untouched = {(n, step) for n, writing in by_number.items() for step in range(len(writing.plan.steps))}
            for (number, step), own in itertools.groupby(rows, key=itemgetter(1, 2)):
                if number >= 0:
                    untouched.discard((number, step))
                    writing = by_number[number]
                    writing.plan.steps[step].write(writing, ((row[3], pickle.loads(row[4])) for row in own))
            for number, step in sorted(untouched):  # no row came, and yet it is known that there is such a state
                by_number[number].plan.steps[step].write(by_number[number], iter(()))
            writer.finish()
            file = _store(checkpoint_files(self.target), buffer, f"slot-{slot}-{uuid.uuid4().hex[:8]}")
        return WrittenSlot(
            slot,
            file,
            {writing.plan.uid: sorted(writing.keyed_states) for writing in writings},
            {writing.plan.uid: writing.list_items for writing in writings},
        )

    def _carry(self, writings: list[OperatorWriting]) -> None:
        carried = [writing for writing in writings if writing.plan.carried is not None]
        if self.source is not None and carried:
            with contents_of(Snapshot(open_checkpoint(self.source))) as contents:
                for writing in carried:
                    writing.carry(contents)


def _store(files: CheckpointFiles, buffer: BinaryIO, name: str) -> StoredFile:
    buffer.seek(0)
    crc = 0
    while chunk := buffer.read(_CHUNK):
        crc = zlib.crc32(chunk, crc)
    size = buffer.tell()
    buffer.seek(0)
    files.write(name, buffer)
    return StoredFile(size, crc, name)

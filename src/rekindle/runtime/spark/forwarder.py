"""The Spark tasks of an epoch: stateless forwarders between Spark's exchanges and the slots.

A forwarder streams frames to a slot and streams what comes back into the next exchange. It sends and receives on one
socket at the same time, without threads: whatever is ready goes first, so neither side can block the other.
"""

from __future__ import annotations

import select
import socket
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark import TaskContext

from rekindle.exceptions import SlotLostError, SlotProtocolError
from rekindle.runtime.exchange.arrow_batches import encode_batch
from rekindle.runtime.exchange.column_routes import ColumnRoute
from rekindle.runtime.exchange.split_routes import SplitEnds, SplitRoute
from rekindle.runtime.master.slots.slot_directory import SlotAddress, SlotDirectory
from rekindle.runtime.spark.worker_daemon import prepare_this_worker
from rekindle.runtime.wire import messages as m
from rekindle.runtime.wire.call import call
from rekindle.runtime.wire.framing import END, ERROR, HEADER

ENVELOPE_DDL = "edge int, target int, payload binary"
_ENVELOPE = pa.schema([("edge", pa.int32()), ("target", pa.int32()), ("payload", pa.binary())])
_RECEIVE = 1 << 18


@dataclass(frozen=True, slots=True)
class ForwardSource:
    """Forward the rows of a DataFrame, task j to slot j modulo the source's parallelism.

    Attributes:
        directory: Where the slots are.
        node: The source.
        parallelism: The number of its subtasks.
        ends: Where the splits of the source end; None: nowhere.
    """

    directory: SlotDirectory
    node: int
    parallelism: int
    ends: SplitEnds | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run as the function of ``mapInArrow``."""
        epoch, partition, attempt = _task()
        task = m.OpenTask(self.directory.attempt, epoch, 0, partition, attempt, source=self.node)
        kept = batches if self.ends is None else self.ends.cut(batches)
        frames = ((0, encode_batch(batch)) for batch in kept if batch.num_rows)
        return _forward(self.directory, partition % self.parallelism, task, frames)


@dataclass(frozen=True, slots=True)
class RouteSource:
    """Take the rows of a DataFrame by columns straight into the exchange."""

    route: ColumnRoute | SplitRoute

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run as the function of ``mapInArrow``."""
        epoch, partition, _ = _task()
        for envelopes in self.route.envelopes(batches, epoch, partition):
            yield _envelope_batch(envelopes)


@dataclass(frozen=True, slots=True)
class ForwardTick:
    """Ask slots to poll the sources that live in them; the rows of a tick name the slots."""

    directory: SlotDirectory
    polling: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run as the function of ``mapInArrow``."""
        epoch, partition, attempt = _task()
        slots = {slot for batch in batches for slot in batch.column(0).to_pylist()}  # a tick may have come twice
        for slot in sorted(slots) if self.polling else ():
            task = m.OpenTask(self.directory.attempt, epoch, 0, partition, attempt, poll=True)
            yield from _forward(self.directory, slot, task, iter(()))


@dataclass(frozen=True, slots=True)
class ForwardLevel:
    """Forward what is for one level to the slot of this partition, and pass on what is for later levels."""

    directory: SlotDirectory
    level: int
    edge_levels: tuple[int, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run as the function of ``mapInArrow``."""
        epoch, partition, attempt = _task()
        later: deque[pa.RecordBatch] = deque()
        task = m.OpenTask(self.directory.attempt, epoch, self.level, partition, attempt)
        yield from _forward(self.directory, partition, task, self._own(batches, later))
        yield from later

    def _own(self, batches: Iterator[pa.RecordBatch], later: deque[pa.RecordBatch]) -> Iterator[tuple[int, Any]]:
        for batch in batches:
            edges, payloads = batch.column(0).to_pylist(), batch.column(2)
            passed = [row for row, edge in enumerate(edges) if self.edge_levels[edge] != self.level]
            if passed:
                later.append(batch.take(pa.array(passed)))
            for row, edge in enumerate(edges):
                if self.edge_levels[edge] == self.level:
                    yield edge, payloads[row].as_buffer()


def _task() -> tuple[int, int, int]:
    prepare_this_worker()
    context = TaskContext.get()
    assert context is not None
    epoch = context.getLocalProperty("streaming.sql.batchId")
    assert epoch is not None, "a forwarder runs only inside an epoch"
    return int(epoch), context.partitionId(), context.attemptNumber()


def _forward(
    directory: SlotDirectory, slot: int, task: m.OpenTask, frames: Iterator[tuple[int, Any]]
) -> Iterator[pa.RecordBatch]:
    with _open_task(directory.slots[slot], directory.secret, task) as sock:
        sock.setblocking(False)
        received = _Received(slot)
        for edge, payload in frames:
            yield from _send(sock, edge, payload, received)
        yield from _send(sock, END, b"", received)
        while not received.ended:
            select.select([sock], [], [])
            received.read(sock)
            yield from received.batches()


def _open_task(slot: SlotAddress, secret: bytes, task: m.OpenTask) -> socket.socket:
    """Open an authenticated connection, and announce a task on it."""
    try:
        return call(lambda: _dial(slot), secret, m.encode(task))
    except (OSError, EOFError) as error:
        raise SlotLostError(f"the slot at {slot.host} cannot be reached: {error}") from error


def _dial(slot: SlotAddress) -> socket.socket:
    if slot.unix_name and slot.host == socket.gethostname():
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        target: str | tuple[str, int] = "\0" + slot.unix_name
    else:
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        target = (slot.address, slot.port)
    try:
        sock.connect(target)
    except BaseException:
        sock.close()
        raise
    return sock


def _send(sock: socket.socket, edge: int, payload: Any, received: _Received) -> Iterator[pa.RecordBatch]:
    for part in (HEADER.pack(edge, 0, len(payload)), payload):
        view = memoryview(part).cast("B")
        while view:
            readable, writable, _ = select.select([sock], [sock], [])
            if readable:
                received.read(sock)
                yield from received.batches()
            if writable:
                try:
                    view = view[sock.send(view) :]
                except BlockingIOError:
                    continue
                except OSError as error:
                    received.last_words(sock)
                    raise received.lost(error) from error


def _envelope_batch(envelopes: list[tuple[int, int, Any]]) -> pa.RecordBatch:
    columns = zip(*envelopes, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, _ENVELOPE, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_ENVELOPE)


class _Received:
    """Put the frames together that come back from a slot."""

    def __init__(self, slot: int) -> None:
        self._slot = slot
        self._buffer = bytearray()
        self._rows: list[tuple[int, int, bytes]] = []
        self.ended = False

    def read(self, sock: socket.socket) -> None:
        try:
            data = sock.recv(_RECEIVE)
        except BlockingIOError:
            return
        except OSError as error:
            raise self.lost(error) from error
        if not data and not self.ended:
            raise self.lost(EOFError("it closed the connection"))
        self._buffer += data
        self._cut()

    def last_words(self, sock: socket.socket) -> None:
        """Read what a slot said before it hung up; raise if it was an error."""
        with suppress(SlotLostError):
            while select.select([sock], [], [], 0)[0]:
                self.read(sock)

    def batches(self) -> Iterator[pa.RecordBatch]:
        if self._rows:
            rows, self._rows = self._rows, []
            yield _envelope_batch(rows)

    def lost(self, error: Exception) -> SlotLostError:
        return SlotLostError(f"slot {self._slot} went away in the middle of a task: {error}")

    def _cut(self) -> None:
        start, size = 0, len(self._buffer)
        while size - start >= HEADER.size:
            edge, target, length = HEADER.unpack_from(self._buffer, start)
            end = start + HEADER.size + length
            if end > size:
                break
            payload = bytes(memoryview(self._buffer)[start + HEADER.size : end])
            start = end
            if edge == END:
                self.ended = True
            elif edge == ERROR:
                raise SlotProtocolError(f"slot {self._slot} failed: {payload.decode(errors='replace')}")
            else:
                self._rows.append((edge, target, payload))
        if start:
            del self._buffer[:start]


Forwarder = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

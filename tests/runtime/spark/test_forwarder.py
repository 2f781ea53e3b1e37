"""The forwarders: Spark tasks that stream frames to a slot and what comes back into the next exchange."""

from __future__ import annotations

import datetime
import select
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest

from rekindle.columns.chains import ColumnChain
from rekindle.columns.expressions import Field
from rekindle.columns.kinds import Kind
from rekindle.columns.shapes import Shape
from rekindle.contracts.key_groups import subtask_of_key_group
from rekindle.exceptions import SlotLostError, SlotProtocolError
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.exchange.column_routes import ColumnRoute
from rekindle.runtime.exchange.payload import Passed, decode
from rekindle.runtime.exchange.writers import Envelope
from rekindle.runtime.master.slots.slot_directory import SlotAddress, SlotDirectory
from rekindle.runtime.slot.data_server import DataServer
from rekindle.runtime.spark import forwarder
from rekindle.runtime.spark.forwarder import (
    ForwardLevel,
    ForwardSource,
    ForwardTick,
    RouteSource,
)
from rekindle.runtime.wire import call
from rekindle.runtime.wire.framing import END, HEADER, receive_frame
from rekindle.runtime.wire.messages import OpenTask
from rekindle.state.key_hash import key_group_of
from support.handshakes import accept

SECRET = b"s" * 32
ENVELOPES = pa.schema([("edge", pa.int32()), ("target", pa.int32()), ("payload", pa.binary())])
MEGABYTE = 1 << 20

Send = Callable[[Envelope], None]


@dataclass
class FakeSlot:
    """Note what is delivered, and answer as a test wants."""

    answer: Callable[[Iterator[tuple[int, bytearray]], Send], None] | None = None
    index: int = 1
    tasks: list[OpenTask] = field(default_factory=list)
    frames: list[tuple[int, bytes]] = field(default_factory=list)

    def run_task(self, task: OpenTask, frames: Iterator[tuple[int, bytearray]], send: Send) -> None:
        self.tasks.append(task)
        if self.answer is not None:
            self.answer(frames, send)
        for edge, payload in frames:
            self.frames.append((edge, bytes(payload)))


class Served:
    """Serve fake slots as real ones are served."""

    def __init__(self) -> None:
        self.errors: list[BaseException] = []
        self._servers: list[DataServer] = []

    def address(self, slot: FakeSlot, secret: bytes = SECRET, tcp: bool = False) -> SlotAddress:
        server = DataServer(slot, secret, "127.0.0.1" if tcp else None, self._failed)  # type: ignore[arg-type]
        self._servers.append(server)
        host = "another host" if tcp else socket.gethostname()
        return SlotAddress(host, server.unix_name, "127.0.0.1", server.port)

    def _failed(self, error: BaseException) -> str:
        self.errors.append(error)
        return f"{type(error).__name__}: {error}"

    def directory(self, *slots: FakeSlot) -> SlotDirectory:
        return SlotDirectory(4, SECRET, tuple(self.address(slot) for slot in slots))

    def wait(self) -> None:
        """Wait until all connections so far have been served."""
        for thread in threading.enumerate():
            if thread.name.startswith("data ") and not thread.name.endswith("listener"):
                thread._started.wait()  # type: ignore[attr-defined]  # it may be about to begin
                thread.join()

    def close(self) -> None:
        for server in self._servers:
            server.close()


@pytest.fixture
def served() -> Iterator[Served]:
    serving = Served()
    yield serving
    serving.close()


@pytest.fixture(autouse=True)
def task_context(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in for Spark: this is epoch 9, partition 1, first try."""
    monkeypatch.setattr(forwarder, "_task", lambda: (9, 1, 0))


def envelopes(*rows: tuple[int, int, bytes]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(
        [dict(zip(("edge", "target", "payload"), row, strict=True)) for row in rows], schema=ENVELOPES
    )


def run(
    function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], *batches: pa.RecordBatch
) -> list[Any]:
    """Run a forwarder as Spark does, and give its rows."""
    rows = []
    for batch in function(iter(batches)):
        assert batch.schema == ENVELOPES
        assert batch.num_rows > 0
        rows += [(row["edge"], row["target"], row["payload"]) for row in batch.to_pylist()]
    return rows


def level(directory: SlotDirectory, edge_levels: tuple[int, ...] = (1, 1, 2)) -> ForwardLevel:
    return ForwardLevel(directory, 1, edge_levels)


class TestForwardLevel:
    def test_frames_of_its_level_go_to_the_slot_of_its_partition_in_order(self, served: Served) -> None:
        slots = [FakeSlot(), FakeSlot()]
        batches = envelopes((0, 1, b"a"), (1, 1, b"b")), envelopes((0, 1, b""))
        assert run(level(served.directory(*slots)), *batches) == []
        assert slots[1].frames == [(0, b"a"), (1, b"b"), (0, b"")]
        assert slots[1].tasks == [OpenTask(attempt=4, epoch=9, level=1, partition=1, task_attempt=0)]
        assert slots[0].tasks == []

    def test_what_is_for_later_levels_is_passed_on(self, served: Served) -> None:
        slot = FakeSlot()
        rows = run(
            level(served.directory(slot, slot)), envelopes((2, 0, b"later"), (0, 1, b"own"), (2, 1, b"later too"))
        )
        assert slot.frames == [(0, b"own")]
        assert rows == [(2, 0, b"later"), (2, 1, b"later too")]

    def test_what_the_slot_sends_back_becomes_rows(self, served: Served) -> None:
        def answer(frames: Iterator[tuple[int, bytearray]], send: Send) -> None:
            for edge, payload in frames:
                send((2, edge, bytes(payload).upper()))
            send((2, 7, b"the end"))

        slot = FakeSlot(answer)
        rows = run(level(served.directory(slot, slot)), envelopes((0, 1, b"a"), (1, 1, b"b")))
        assert rows == [(2, 0, b"A"), (2, 1, b"B"), (2, 7, b"the end")]

    def test_a_partition_without_rows_is_still_a_task_of_its_slot(self, served: Served) -> None:
        slot = FakeSlot()
        assert run(level(served.directory(slot, slot))) == []
        assert len(slot.tasks) == 1


class TestForwardSource:
    def test_the_rows_of_task_j_go_to_slot_j_modulo_the_parallelism(
        self, served: Served, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        slots = [FakeSlot(), FakeSlot()]
        directory = served.directory(*slots)
        for partition in (0, 1, 5):
            monkeypatch.setattr(forwarder, "_task", lambda partition=partition: (9, partition, 0))
            run(ForwardSource(directory, node=3, parallelism=2), pa.RecordBatch.from_pydict({"n": [partition]}))
        assert [[task.partition for task in slot.tasks] for slot in slots] == [[0], [1, 5]]
        assert {task.source for slot in slots for task in slot.tasks} == {3}
        assert {task.level for slot in slots for task in slot.tasks} == {0}

    def test_rows_arrive_as_rows_and_empty_batches_not_at_all(self, served: Served) -> None:
        slot = FakeSlot()
        batch = pa.RecordBatch.from_pydict({"n": [1, None], "s": ["a", "b"]})
        run(ForwardSource(served.directory(slot), node=0, parallelism=1), batch.slice(0, 0), batch)
        ((_, payload),) = slot.frames
        chunk = decode(bytearray(payload))
        assert isinstance(chunk, Chunk)
        assert [(row.n, row.s) for row in chunk.values] == [(1, "a"), (None, "b")]


KEY_COLUMNS: dict[str, list[Any]] = {
    "integers": list(range(-50, 50)),
    "integers with nulls": [None, *range(99)],
    "strings": [f"user-{number}" for number in range(100)],
    "strings with nulls": [None, *(f"user-{number}" for number in range(99))],
    "booleans": [True, False, None, True] * 25,
    "floats": [number / 4 for number in range(100)],
    "dates": [datetime.date(2024, 1, 1) + datetime.timedelta(days=number) for number in range(100)],
}


class TestRouteSource:
    def routed(self, batch: pa.RecordBatch, key: tuple[int, ...], single_key: bool) -> list[tuple[int, Chunk]]:
        shape = Shape.row(batch.schema.names)
        fields = tuple(Field(place) for place in key)
        chain = ColumnChain((0,), 7, shape, (), fields, single_key, shape, (Kind.OTHER,) * len(shape))
        opened = []
        for edge, target, payload in run(RouteSource(ColumnRoute(chain, 3, 128)), batch.slice(0, 0), batch):
            chunk = decode(bytearray(payload))
            assert edge == 7
            if isinstance(chunk, Chunk):
                opened.append((target, chunk))
            else:
                assert chunk == Passed([batch.num_rows], [])
        return opened

    @pytest.mark.parametrize("values", KEY_COLUMNS.values(), ids=KEY_COLUMNS)
    def test_each_row_goes_to_the_subtask_that_owns_its_key(self, values: list[Any]) -> None:
        batch = pa.RecordBatch.from_pydict({"number": list(range(100)), "key": values})
        opened = self.routed(batch, key=(1,), single_key=True)
        rows = {
            row.number: (row.key, key, target)
            for target, chunk in opened
            for row, key in zip(chunk.values, chunk.keys or [], strict=True)
        }
        assert sorted(rows) == list(range(100))
        for number, (value, key, target) in rows.items():
            assert value == key == values[number]
            assert type(key) is type(values[number])
            assert target == subtask_of_key_group(key_group_of(key, 128), 3, 128)

    @pytest.mark.parametrize("key", [(0, 1), (1, 0), (1,)], ids=str)
    def test_a_key_of_several_columns_goes_where_its_tuple_belongs(self, key: tuple[int, ...]) -> None:
        columns = [[None, *range(49)] * 2, [f"user-{number % 7}" for number in range(100)]]
        batch = pa.RecordBatch.from_pydict({"a": columns[0], "b": columns[1]})
        keys = [(target, k) for target, c in self.routed(batch, key, single_key=False) for k in c.keys or []]
        assert Counter(k for _, k in keys) == Counter(zip(*(columns[index] for index in key), strict=True))
        assert all(target == subtask_of_key_group(key_group_of(k, 128), 3, 128) for target, k in keys)

    def test_rows_of_one_target_keep_their_order(self) -> None:
        batch = pa.RecordBatch.from_pydict({"number": list(range(100)), "key": [number % 5 for number in range(100)]})
        for _, chunk in self.routed(batch, key=(1,), single_key=True):
            numbers = [row.number for row in chunk.values]
            assert numbers == sorted(numbers)


class TestForwardTick:
    TICK = pa.RecordBatch.from_pydict({"slot": [0, 1]})

    def test_each_slot_named_is_asked_to_poll_its_sources(self, served: Served) -> None:
        slots = [FakeSlot(lambda frames, send: send((0, 1, b"polled"))), FakeSlot()]
        assert run(ForwardTick(served.directory(*slots), polling=True), self.TICK) == [(0, 1, b"polled")]
        for slot in slots:
            assert slot.tasks == [OpenTask(4, 9, 0, 1, 0, poll=True)]
            assert slot.frames == []

    def test_a_job_without_hosted_sources_asks_nobody(self, served: Served) -> None:
        slot = FakeSlot()
        assert run(ForwardTick(served.directory(slot, slot), polling=False), self.TICK) == []
        assert slot.tasks == []


def echo(frames: Iterator[tuple[int, bytearray]], send: Send) -> None:
    for edge, payload in frames:
        send((edge, 0, bytes(payload)))


def speak_first(frames: Iterator[tuple[int, bytearray]], send: Send) -> None:
    for _ in range(12):
        send((0, 0, bytes(MEGABYTE)))
    list(frames)


def listen_first(frames: Iterator[tuple[int, bytearray]], send: Send) -> None:
    for _ in list(frames):
        send((0, 0, bytes(MEGABYTE)))


class TestLargePayloads:
    @pytest.mark.parametrize("tcp", [False, True], ids=["unix socket", "tcp"])
    @pytest.mark.parametrize("answer", [echo, speak_first, listen_first])
    def test_both_sides_sending_at_once_do_not_block_each_other(
        self, served: Served, answer: Callable[..., None], tcp: bool
    ) -> None:
        address = served.address(FakeSlot(answer), tcp=tcp)
        frames = envelopes(*((0, 1, bytes([number]) * MEGABYTE) for number in range(12)))
        rows = run(level(SlotDirectory(4, SECRET, (address, address))), frames)
        assert sum(len(payload) for _, _, payload in rows) == 12 * MEGABYTE
        if answer is echo:
            assert [payload[0] for _, _, payload in rows] == list(range(12))

    def test_many_small_frames_come_back_in_order(self, served: Served) -> None:
        slot = FakeSlot(echo)
        frames = envelopes(*((0, 1, str(number).encode()) for number in range(5_000)))
        rows = run(level(served.directory(slot, slot)), frames)
        assert [int(payload) for _, _, payload in rows] == list(range(5_000))


def serve_once(conversation: Callable[[socket.socket], None]) -> tuple[SlotAddress, threading.Thread]:
    """Serve one connection by hand: what happens on it after the handshake is up to the test."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]

    def serve() -> None:
        with listener, listener.accept()[0] as connection:
            conversation(connection)

    thread = threading.Thread(target=serve)
    thread.start()
    return SlotAddress("another host", "", "127.0.0.1", port), thread


class TestFailures:
    def test_an_error_in_the_slot_raises_with_what_it_said(self, served: Served) -> None:
        def fail(frames: Iterator[tuple[int, bytearray]], send: Send) -> None:
            next(frames)
            raise ValueError("a user's mistake")

        slot = FakeSlot(fail)
        with pytest.raises(SlotProtocolError, match="slot 1 failed: ValueError: a user's mistake"):
            run(level(served.directory(slot, slot)), envelopes((0, 1, b"a")))
        assert [str(error) for error in served.errors] == ["a user's mistake"], "the job master is told as well"

    @pytest.mark.parametrize("noticed", [True, False], ids=["before it sends on", "by sending on"])
    def test_what_a_slot_said_is_heard_though_it_has_hung_up_while_the_task_still_has_much_to_send(
        self, served: Served, monkeypatch: pytest.MonkeyPatch, noticed: bool
    ) -> None:
        ready, blind = select.select, [False]

        def may_be_late(readers: list[Any], writers: list[Any], *rest: Any) -> tuple[list[Any], list[Any], list[Any]]:
            if blind[0] and writers:
                blind[0] = False
                return [], writers, []
            return ready(readers, writers, *rest)

        def fail(frames: Iterator[tuple[int, bytearray]], send: Send) -> None:
            next(frames)
            raise ValueError("early")

        def frames() -> Iterator[pa.RecordBatch]:
            yield envelopes((0, 1, b"the first"))
            served.wait()  # the slot has failed, said so, and hung up
            blind[0] = not noticed
            yield from (envelopes((0, 1, bytes(MEGABYTE))) for _ in range(50))

        monkeypatch.setattr(forwarder.select, "select", may_be_late)
        slot = FakeSlot(fail)
        with pytest.raises(SlotProtocolError, match="slot 1 failed: ValueError: early"):
            list(level(served.directory(slot, slot))(frames()))

    @pytest.mark.parametrize("said", [b"", HEADER.pack(0, 0, 100), HEADER.pack(0, 0, 100) + b"half"], ids=len)
    def test_a_slot_that_goes_away_in_the_middle_raises_slot_lost(self, said: bytes) -> None:
        def go_away(connection: socket.socket) -> None:
            accept(connection, SECRET)
            receive_frame(connection)
            connection.sendall(said)

        address, thread = serve_once(go_away)
        with pytest.raises(SlotLostError, match="slot 1 went away in the middle of a task"):
            run(level(SlotDirectory(4, SECRET, (address, address))))
        thread.join()

    def test_a_slot_that_goes_away_when_it_has_heard_all_but_said_nothing_raises_slot_lost(self) -> None:
        def listen_and_go(connection: socket.socket) -> None:
            accept(connection, SECRET)
            while receive_frame(connection)[0] != END:
                pass

        address, thread = serve_once(listen_and_go)
        with pytest.raises(SlotLostError, match="slot 1 went away in the middle of a task: it closed the connection"):
            run(level(SlotDirectory(4, SECRET, (address, address))), envelopes((0, 1, b"a")))
        thread.join()

    def test_a_slot_that_is_not_there_raises_slot_lost_naming_its_host(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as unused:
            port = unused.getsockname()[1]
        for address in (
            SlotAddress("another host", "", "127.0.0.1", port),
            SlotAddress(socket.gethostname(), "rekindle-nobody", "", 0),
        ):
            with pytest.raises(SlotLostError, match=f"the slot at {address.host} cannot be reached"):
                run(level(SlotDirectory(4, SECRET, (address, address))))

    def test_a_slot_with_another_secret_is_not_fed(self, served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(call, "_FIRST_PAUSE", 0.0)
        slot = FakeSlot()
        address = served.address(slot, secret=b"w" * 32)
        with pytest.raises(SlotLostError, match="cannot be reached"):
            run(level(SlotDirectory(4, SECRET, (address, address))), envelopes((0, 1, b"a")))
        assert slot.tasks == []
        assert served.errors == []

    def test_an_impostor_that_only_plays_the_part_of_a_slot_is_not_fed(self) -> None:
        received = bytearray()

        def play(connection: socket.socket) -> None:
            connection.sendall(b"n" * 32)
            connection.recv(64, socket.MSG_WAITALL)
            connection.sendall(b"p" * 32)
            received.extend(connection.recv(1))

        address, thread = serve_once(play)
        with pytest.raises(SlotProtocolError, match="does not know the job's secret"):
            run(level(SlotDirectory(4, SECRET, (address, address))), envelopes((0, 1, b"a")))
        thread.join()
        assert received == b""

    def test_a_peer_that_sends_garbage_delivers_nothing(self, served: Served) -> None:
        slot = FakeSlot()
        address = served.address(slot, tcp=True)
        with socket.create_connection((address.address, address.port)) as stranger:
            stranger.sendall(b"GET / HTTP/1.1\r\n" + bytes(64))
            with suppress(ConnectionResetError):
                while stranger.recv(1 << 10):
                    pass
        served.wait()
        assert slot.tasks == []
        assert served.errors == []

    def test_a_task_that_spark_cancels_in_the_middle_is_no_failure_of_the_slot(self, served: Served) -> None:
        slot = FakeSlot(echo)
        running = level(served.directory(slot, slot))(iter([envelopes((0, 1, bytes(MEGABYTE)))] * 5))
        next(running)
        running.close()  # type: ignore[attr-defined]
        served.wait()
        assert served.errors == []

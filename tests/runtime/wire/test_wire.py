"""The wire: how bytes are cut into frames, and how both ends prove that they know the job's secret."""

from __future__ import annotations

import hashlib
import hmac
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.checkpoint.metadata import NativeState, StoredFile
from rekindle.checkpoint.slot_snapshot import ListStateSize, OperatorSnapshot
from rekindle.exceptions import SlotProtocolError
from rekindle.runtime.wire import handshake
from rekindle.runtime.wire import messages as m
from rekindle.runtime.wire.framing import END, HEADER, MESSAGE, receive_exactly, receive_frame, send_frame
from rekindle.state.operator_state.stored import DistributionMode
from support.handshakes import accept

SECRET = b"s" * 32
WRONG = b"w" * 32


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    left, right = socket.socketpair()
    with left, right:
        yield left, right


@pytest.fixture
def beside() -> Iterator[ThreadPoolExecutor]:
    """Run the other end of a conversation."""
    with ThreadPoolExecutor(2) as pool:
        yield pool


class TestFraming:
    @pytest.mark.parametrize("size", [0, 1, (1 << 14) - 1, 1 << 14, 3 << 20], ids=str)
    @pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
    def test_a_frame_is_received_as_it_was_sent(
        self,
        pair: tuple[socket.socket, socket.socket],
        beside: ThreadPoolExecutor,
        size: int,
        kind: Callable[[bytes], bytes],
    ) -> None:
        payload = bytes(range(256)) * (size // 256 + 1)
        sending = beside.submit(send_frame, pair[0], 5, 1, kind(payload[:size]))
        assert receive_frame(pair[1]) == (5, 1, payload[:size])
        sending.result()

    def test_frames_come_one_after_the_other(self, pair: tuple[socket.socket, socket.socket]) -> None:
        frames = [(MESSAGE, 0, b"first"), (3, 2, b""), (END, 0, b"last")]
        for frame in frames:
            send_frame(pair[0], *frame)
        assert [receive_frame(pair[1]) for _ in frames] == frames

    def test_a_frame_that_comes_byte_by_byte_is_put_together(
        self, pair: tuple[socket.socket, socket.socket], beside: ThreadPoolExecutor
    ) -> None:
        receiving = beside.submit(receive_frame, pair[1])
        for byte in HEADER.pack(3, 4, 5) + b"hello":
            pair[0].sendall(bytes([byte]))
        assert receiving.result() == (3, 4, b"hello")

    @pytest.mark.parametrize(
        "sent", [b"", HEADER.pack(1, 2, 10)[:-1], HEADER.pack(1, 2, 10), HEADER.pack(1, 2, 10) + b"x"]
    )
    def test_a_connection_that_ends_in_the_middle_raises_eof(
        self, pair: tuple[socket.socket, socket.socket], sent: bytes
    ) -> None:
        pair[0].sendall(sent)
        pair[0].close()
        with pytest.raises(EOFError, match="closed the connection"):
            receive_frame(pair[1])

    def test_a_frame_above_the_limit_is_refused_before_room_is_made_for_it(
        self, pair: tuple[socket.socket, socket.socket]
    ) -> None:
        pair[0].sendall(HEADER.pack(MESSAGE, 0, 1 << 60))
        with pytest.raises(ConnectionError, match=str(1 << 60)):
            receive_frame(pair[1])

    def test_a_frame_at_the_limit_is_taken(self, pair: tuple[socket.socket, socket.socket]) -> None:
        for payload in (b"x" * 10, b"x" * 11):
            send_frame(pair[0], MESSAGE, 0, payload)
        assert len(receive_frame(pair[1], limit=10)[2]) == 10
        with pytest.raises(ConnectionError, match=r"11 bytes .* at most 10"):
            receive_frame(pair[1], limit=10)


class TestHandshake:
    def both(
        self,
        pair: tuple[socket.socket, socket.socket],
        beside: ThreadPoolExecutor,
        server_secret: bytes,
        client_secret: bytes,
    ) -> tuple[Future[None], Future[None]]:
        def run(side: Callable[[socket.socket, bytes], None], sock: socket.socket, secret: bytes) -> None:
            try:
                side(sock, secret)
            except BaseException:
                sock.close()  # as the callers do
                raise

        server = beside.submit(run, accept, pair[0], server_secret)
        return server, beside.submit(run, handshake.connect, pair[1], client_secret)

    def test_two_that_know_the_secret_go_on_to_speak_without_a_timeout(
        self, pair: tuple[socket.socket, socket.socket], beside: ThreadPoolExecutor
    ) -> None:
        for done in self.both(pair, beside, SECRET, SECRET):
            done.result()
        assert [end.gettimeout() for end in pair] == [None, None]
        send_frame(pair[0], MESSAGE, 0, b"after it")
        assert receive_frame(pair[1])[2] == b"after it"

    def test_a_client_with_another_secret_is_turned_away_and_learns_nothing(
        self, pair: tuple[socket.socket, socket.socket], beside: ThreadPoolExecutor
    ) -> None:
        server, client = self.both(pair, beside, SECRET, WRONG)
        with pytest.raises(SlotProtocolError, match="did not know the job's secret and was turned away"):
            server.result()
        with pytest.raises(EOFError):
            client.result()

    def test_a_server_that_does_not_know_the_secret_is_not_spoken_to(
        self, pair: tuple[socket.socket, socket.socket], beside: ThreadPoolExecutor
    ) -> None:
        client = beside.submit(handshake.connect, pair[1], SECRET)
        pair[0].sendall(b"n" * 32)
        receive_exactly(pair[0], 64)
        pair[0].sendall(b"p" * 32)
        with pytest.raises(SlotProtocolError, match="the peer at the other end does not know the job's secret"):
            client.result()

    def test_a_proof_sent_back_to_the_client_that_made_it_is_refused(
        self, pair: tuple[socket.socket, socket.socket], beside: ThreadPoolExecutor
    ) -> None:
        client = beside.submit(handshake.connect, pair[1], SECRET)
        pair[0].sendall(b"n" * 32)
        answer = receive_exactly(pair[0], 64)
        pair[0].sendall(answer[32:])
        with pytest.raises(SlotProtocolError, match="does not know"):
            client.result()

    @pytest.mark.parametrize("position", [0, 31, 32, 63])
    def test_a_tampered_proof_is_refused(
        self, pair: tuple[socket.socket, socket.socket], beside: ThreadPoolExecutor, position: int
    ) -> None:
        server = beside.submit(accept, pair[0], SECRET)
        nonce = bytes(receive_exactly(pair[1], 32))
        own = b"c" * 32
        answer = bytearray(own + hmac.new(SECRET, b"client" + nonce + own, hashlib.sha256).digest())
        answer[position] ^= 1
        pair[1].sendall(answer)
        with pytest.raises(SlotProtocolError, match="turned away"):
            server.result()

    def test_a_proof_that_was_overheard_is_of_no_use_on_another_connection(self, beside: ThreadPoolExecutor) -> None:
        overheard = b""
        for attempt in range(2):
            server_end, client_end = socket.socketpair()
            with server_end, client_end:
                server = beside.submit(accept, server_end, SECRET)
                nonce = bytes(receive_exactly(client_end, 32))
                if attempt == 0:
                    own = b"c" * 32
                    overheard = own + hmac.new(SECRET, b"client" + nonce + own, hashlib.sha256).digest()
                    client_end.sendall(overheard)
                    server.result()
                else:
                    client_end.sendall(overheard)
                    with pytest.raises(SlotProtocolError):
                        server.result()

    def test_the_secret_itself_never_travels(
        self, pair: tuple[socket.socket, socket.socket], beside: ThreadPoolExecutor
    ) -> None:
        seen = bytearray()
        middle = socket.socketpair()
        ends = (pair[1], middle[0])

        def relay(source: socket.socket, target: socket.socket) -> None:
            while data := source.recv(1 << 10):
                seen.extend(data)
                target.sendall(data)

        relays = [threading.Thread(target=relay, args=ends), threading.Thread(target=relay, args=ends[::-1])]
        for thread in relays:
            thread.start()
        with middle[1]:
            server = beside.submit(accept, pair[0], SECRET)
            client = beside.submit(handshake.connect, middle[1], SECRET)
            server.result()
            client.result()
            for end in (pair[0], middle[1]):
                end.shutdown(socket.SHUT_RDWR)
        for thread in relays:
            thread.join()
        middle[0].close()
        assert len(seen) == 128
        assert SECRET not in seen

    def test_every_job_has_a_secret_of_its_own(self) -> None:
        secrets = {handshake.new_secret() for _ in range(10)}
        assert len(secrets) == 10
        assert {len(secret) for secret in secrets} == {32}


STORED = StoredFile(4, 5, inline=b"data")
SHARED = StoredFile(6, 7, path="../shared/1-0-0-x", shared=True)
MESSAGES_TO_SLOT: list[m.ToSlot] = [
    m.BeginEpoch(3, 1_000, [1, 2], 10_000),
    m.EndEpoch(3),
    m.TriggerSnapshot(7, 3),
    m.TriggerSnapshot(7, 3, base_id=6),
    m.TriggerSnapshot(7, 3, savepoint="/savepoints/savepoint-1", timestamp=1_700_000_000_000),
    m.NotifyComplete(7),
    m.NotifyComplete(7, restore_point=False),
    m.NotifyAborted(7),
    m.CommitFinal(),
    m.Heartbeat(),
    m.Shutdown(),
    m.Shutdown(job_over=True),
]
MESSAGES_TO_MASTER: list[m.ToMaster] = [
    m.Register(1, 0, 4711, "host"),
    m.Ready("rekindle-x", 0, "127.0.0.1"),
    m.EpochReport(3, 10, 5, False, True, 1 << 40, None, -(1 << 63), clock_set=-3_600_000),
    m.Output("stdout", -1, b"text"),
    m.SnapshotDone(
        1,
        7,
        m.StateHandle(0, STORED),
        [OperatorSnapshot("u", ["s"], {"l": ListStateSize(DistributionMode.UNION, 2)})],
        1,
        2,
    ),
    m.SnapshotDone(
        1,
        7,
        m.StateHandle(0, STORED, [SHARED, SHARED], [NativeState("u", {"1.sst": SHARED, "CURRENT": STORED})], 4),
        [],
        1,
        2,
    ),
    m.SnapshotFailed(1, 7, "reason"),
    m.CommitDone(7),
    m.SlotFailed("Map", 0, "ValueError: x", "traceback"),
    m.SlotFailed("", 0, "CheckpointCorruptError: x", "traceback", kind="CheckpointCorruptError"),
    m.Heartbeat(),
]


class TestMessages:
    @pytest.mark.parametrize("message", MESSAGES_TO_SLOT, ids=lambda message: type(message).__name__)
    def test_a_message_to_a_slot_is_read_as_it_was_sent(self, message: m.ToSlot) -> None:
        assert m.decode_to_slot(m.encode(message)) == message

    @pytest.mark.parametrize("message", MESSAGES_TO_MASTER, ids=lambda message: type(message).__name__)
    def test_a_message_to_the_job_master_is_read_as_it_was_sent(self, message: m.ToMaster) -> None:
        assert m.decode_to_master(m.encode(message)) == message

    @given(st.integers(0), st.integers(0), st.integers(0), st.integers(-1), st.booleans())
    def test_the_opening_of_a_task_is_read_as_it_was_sent(
        self, epoch: int, level: int, partition: int, source: int, poll: bool
    ) -> None:
        small = [min(number, 1 << 62) for number in (epoch, level, partition, source)]
        task = m.OpenTask(0, small[0], small[1], small[2], 0, small[3], poll)
        assert m.decode_open_task(m.encode(task)) == task

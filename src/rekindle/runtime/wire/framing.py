"""Frames on a socket: how every byte between driver, forwarders and slots is cut.

    edge (i32)  target (i32)  length (u64)  payload

``edge`` tells what the payload is: an edge of the job graph, or one of the codes below.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable

HEADER = struct.Struct("<iiQ")

MESSAGE = -1  # a control message or the opening of a task
END = -2  # the sender of frames is done
ERROR = -3  # the receiver failed; the payload says how

MAX_FRAME = 1 << 34


def frame_parts(edge: int, target: int, payload: bytes | memoryview) -> list[memoryview]:
    """Return the pieces of which a frame is sent; a large payload is not copied."""
    header = HEADER.pack(edge, target, len(payload))
    if len(payload) < 1 << 14:
        return [memoryview(header + payload)]
    return [memoryview(header), memoryview(payload)]


def send_frame(sock: socket.socket, edge: int, target: int, payload: bytes | memoryview) -> None:
    """Send one frame."""
    for part in frame_parts(edge, target, payload):
        sock.sendall(part)


def receive_frame(
    sock: socket.socket, limit: int = MAX_FRAME, progress: Callable[[], None] | None = None
) -> tuple[int, int, bytearray]:
    """Receive one frame as (edge, target, payload).

    Args:
        sock: The connection.
        limit: How many bytes a payload may have.
        progress: Called whenever some of it has come.

    Raises:
        EOFError: The peer has closed the connection.
    """
    edge, target, length = HEADER.unpack(receive_exactly(sock, HEADER.size, progress))
    if length > limit:
        raise ConnectionError(f"a frame of {length} bytes was announced, and at most {limit} are taken here")
    return edge, target, receive_exactly(sock, length, progress)


def receive_exactly(sock: socket.socket, count: int, progress: Callable[[], None] | None = None) -> bytearray:
    """Receive a number of bytes; raise EOFError when the peer has closed the connection."""
    buffer = bytearray(count)
    view = memoryview(buffer)
    received = 0
    while received < count:
        taken = sock.recv_into(view[received:])
        if not taken:
            raise EOFError("the peer closed the connection")
        received += taken
        if progress is not None:
            progress()
    return buffer

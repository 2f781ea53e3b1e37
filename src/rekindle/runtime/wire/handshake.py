"""Proof of the job's secret, both ways, before anything else is said on a connection.

    server → client   nonce
    client → server   nonce, HMAC-SHA256(secret, "client" + both nonces)
    server → client   HMAC-SHA256(secret, "server" + both nonces)
    client → server   its first message: who it is, and what it wants

The secret itself never travels on these connections.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import socket
from collections.abc import Generator

from rekindle.exceptions import SlotProtocolError
from rekindle.runtime.wire.framing import HEADER, receive_exactly

_NONCE = 32
_DIGEST = 32
_TIMEOUT = 10.0
_FIRST_MESSAGE = 1 << 16

Introduction = Generator[tuple[bytes, int], bytes, bytes]
"""Yields what to send and how many bytes to receive then, is sent these, and returns the first message."""


def new_secret() -> bytes:
    """Make a secret for a job."""
    return secrets.token_bytes(32)


def introduction(secret: bytes) -> Introduction:
    """Lead the conversation as the one who was called, up to the caller's first message. Pure.

    The caller has proven the secret when more is asked for than its proof, the first thing of all.

    Raises:
        SlotProtocolError: The caller does not know the secret, or announces a first message that can be none.
    """
    own = secrets.token_bytes(_NONCE)
    answer = yield own, _NONCE + _DIGEST
    other, proof = answer[:_NONCE], answer[_NONCE:]
    if not hmac.compare_digest(proof, _proof(secret, b"client", own, other)):
        raise SlotProtocolError("a peer did not know the job's secret and was turned away")
    header = yield _proof(secret, b"server", own, other), HEADER.size
    length = HEADER.unpack(header)[2]
    if not 0 < length <= _FIRST_MESSAGE:
        raise SlotProtocolError(f"a peer announced a first message of {length} bytes")
    return (yield b"", length)


def connect(sock: socket.socket, secret: bytes) -> None:
    """Do the handshake as the one who calls; the first message must follow at once."""
    sock.settimeout(_TIMEOUT)
    other = bytes(receive_exactly(sock, _NONCE))
    own = secrets.token_bytes(_NONCE)
    sock.sendall(own + _proof(secret, b"client", other, own))
    if not hmac.compare_digest(bytes(receive_exactly(sock, _DIGEST)), _proof(secret, b"server", other, own)):
        raise SlotProtocolError("the peer at the other end does not know the job's secret")
    sock.settimeout(None)


def _proof(secret: bytes, role: bytes, server_nonce: bytes, client_nonce: bytes) -> bytes:
    return hmac.new(secret, role + server_nonce + client_nonce, hashlib.sha256).digest()

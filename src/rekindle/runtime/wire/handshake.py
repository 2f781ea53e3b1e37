"""Proof of the job's secret, both ways, before anything else is said on a connection.

    server → client   nonce
    client → server   nonce, HMAC-SHA256(secret, "client" + both nonces)
    server → client   HMAC-SHA256(secret, "server" + both nonces)

The secret itself never travels on these connections.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import socket

from rekindle.exceptions import SlotProtocolError
from rekindle.runtime.wire.framing import receive_exactly

_NONCE = 32
_DIGEST = 32
_TIMEOUT = 10.0


def new_secret() -> bytes:
    """Make a secret for a job."""
    return secrets.token_bytes(32)


def accept(sock: socket.socket, secret: bytes) -> None:
    """Do the handshake as the one who was called."""
    sock.settimeout(_TIMEOUT)
    own = secrets.token_bytes(_NONCE)
    sock.sendall(own)
    answer = bytes(receive_exactly(sock, _NONCE + _DIGEST))
    other, proof = answer[:_NONCE], answer[_NONCE:]
    if not hmac.compare_digest(proof, _proof(secret, b"client", own, other)):
        raise SlotProtocolError("a peer did not know the job's secret and was turned away")
    sock.sendall(_proof(secret, b"server", own, other))
    sock.settimeout(None)


def connect(sock: socket.socket, secret: bytes) -> None:
    """Do the handshake as the one who calls."""
    sock.settimeout(_TIMEOUT)
    other = bytes(receive_exactly(sock, _NONCE))
    own = secrets.token_bytes(_NONCE)
    sock.sendall(own + _proof(secret, b"client", other, own))
    if not hmac.compare_digest(bytes(receive_exactly(sock, _DIGEST)), _proof(secret, b"server", other, own)):
        raise SlotProtocolError("the peer at the other end does not know the job's secret")
    sock.settimeout(None)


def _proof(secret: bytes, role: bytes, server_nonce: bytes, client_nonce: bytes) -> bytes:
    return hmac.new(secret, role + server_nonce + client_nonce, hashlib.sha256).digest()

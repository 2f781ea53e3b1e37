"""The protocol by which state is queried; clients speak it with proxies, and proxies with state servers.

A connection begins with the proof of a secret (:mod:`rekindle.runtime.wire.handshake`): the token of queryable state,
which may be empty, or the job's own secret between slots. The first message is ``b"RKQS"`` and a version. Then frames
go both ways:

    magic (u16)  type (u8)  request (u64)  length (u32)  body (msgpack)

A REQUEST has a :class:`Query` as its body, an ANSWER an :class:`Answer`, a FAILURE a :class:`Failure`. Answers carry
the number of their request, and may come in any order. docs/queryable-state.md describes all of it. Nothing is pickled.
"""

from __future__ import annotations

import struct
from enum import IntEnum, StrEnum

import msgspec

from rekindle.exceptions import (
    NoCheckpointError,
    NoStateOwnerError,
    QueryableStateError,
    QueryRefusedError,
    QueryTimeoutError,
    StateServerGoneError,
    UnknownJobError,
    UnknownKeyError,
    UnknownStateNameError,
    WrongStateTypeError,
)

VERSION = 1
HELLO = b"RKQS" + bytes([VERSION])
"""What a client says first."""

HEADER = struct.Struct("!HBQI")
MAGIC = 0x5251  # "RQ"

MAX_REQUEST = 1 << 20
MAX_ANSWER = 64 << 20
MAX_KEYS = 10_000
"""Limits: the bytes of a request and of an answer, and the keys of one request."""


class FrameType(IntEnum):
    """What a frame is."""

    REQUEST = 1
    ANSWER = 2
    FAILURE = 3


class Consistency(StrEnum):
    """Which value of a state a query reads.

    Attributes:
        LIVE: What the operator would read now. After a failure the job may go back to before it.
        CHECKPOINTED: What the last completed checkpoint holds: no failure takes it back.
    """

    LIVE = "live"
    CHECKPOINTED = "checkpointed"


class Form(StrEnum):
    """How keys and values are written.

    Attributes:
        BYTES: By the serializers of their types, which both sides know; or, where a side names none, as plain data.
        JSON: As text: keys as people type them, values as JSON.
    """

    BYTES = "bytes"
    JSON = "json"


class Code(StrEnum):
    """Why there is no value."""

    UNKNOWN_JOB = "unknown-job"
    UNKNOWN_NAME = "unknown-name"
    UNKNOWN_KEY = "unknown-key"
    WRONG_TYPE = "wrong-type"
    NO_OWNER = "no-owner"
    NO_CHECKPOINT = "no-checkpoint"
    SERVER_GONE = "server-gone"
    TIMEOUT = "timeout"
    REFUSED = "refused"
    FAILED = "failed"


_ERRORS: dict[Code, type[QueryableStateError]] = {
    Code.UNKNOWN_JOB: UnknownJobError,
    Code.UNKNOWN_NAME: UnknownStateNameError,
    Code.UNKNOWN_KEY: UnknownKeyError,
    Code.WRONG_TYPE: WrongStateTypeError,
    Code.NO_OWNER: NoStateOwnerError,
    Code.NO_CHECKPOINT: NoCheckpointError,
    Code.SERVER_GONE: StateServerGoneError,
    Code.TIMEOUT: QueryTimeoutError,
    Code.REFUSED: QueryRefusedError,
    Code.FAILED: QueryableStateError,
}

CURABLE = frozenset({Code.NO_OWNER, Code.SERVER_GONE})
"""Failures that pass when a restart is over."""


class QueriedKey(msgspec.Struct, frozen=True, array_like=True):
    """A key, and its hash, which decides who owns it; in JSON there is no hash, and the key is text."""

    data: bytes
    hash: int = 0


class Query(msgspec.Struct, frozen=True, array_like=True):
    """Ask for what a state holds for some keys.

    Attributes:
        job_id: The job.
        name: The name under which the state can be queried.
        keys: The keys.
        consistency: Which value of the state is wanted.
        form: How keys and values are written.
        key_type: The fingerprint of the keys' type; empty: they are plain data.
        state_type: The fingerprint of the state's type; empty: values are wanted as plain data.
        kind: The kind of state; empty: any.
    """

    job_id: str
    name: str
    keys: list[QueriedKey]
    consistency: Consistency = Consistency.LIVE
    form: Form = Form.BYTES
    key_type: bytes = b""
    state_type: bytes = b""
    kind: str = ""


class QueriedValue(msgspec.Struct, frozen=True, array_like=True):
    """What a state holds for a key.

    Attributes:
        values: Its values, written one after the other; in JSON the whole text.
        count: How many there are, those that are None included.
        map_keys: The key of each value in a map.
        nones: Which values are None; they are not in ``values``.
    """

    values: bytes
    count: int = 1
    map_keys: bytes = b""
    nones: list[int] = []


class Result(msgspec.Struct, frozen=True, array_like=True):
    """What became of one key: a value, or why there is none."""

    value: QueriedValue | None = None
    code: Code | None = None
    message: str = ""


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """Answer a query: a result for each key, in their order.

    Attributes:
        results: The results.
        kind: The kind of state.
        checkpoint_id: The oldest checkpoint that a result is out of; None: they are live.
    """

    results: list[Result]
    kind: str = ""
    checkpoint_id: int | None = None


class Failure(msgspec.Struct, frozen=True, array_like=True):
    """Refuse a query as a whole."""

    code: Code
    message: str


class MalformedFrameError(Exception):
    """What came is not a frame of this protocol: the connection cannot be used any more."""


encode = msgspec.msgpack.encode
_decode_query = msgspec.msgpack.Decoder(Query).decode
_decode_answer = msgspec.msgpack.Decoder(Answer).decode
_decode_failure = msgspec.msgpack.Decoder(Failure).decode


def frame(kind: FrameType, request: int, body: bytes) -> bytes:
    """Return a frame."""
    return HEADER.pack(MAGIC, kind, request, len(body)) + body


def read_header(data: bytes | bytearray | memoryview, limit: int) -> tuple[FrameType, int, int]:
    """Return type, request and length of the frame that begins with these bytes.

    Raises:
        MalformedFrameError: It is none, or too large.
    """
    magic, kind, request, length = HEADER.unpack_from(data)
    if magic != MAGIC:
        raise MalformedFrameError("a frame does not begin as those of queries do")
    if length > limit:
        raise MalformedFrameError("a frame was announced that is too large")
    try:
        return FrameType(kind), request, length
    except ValueError:
        raise MalformedFrameError("a frame is of an unknown type") from None


def decode_query(body: bytes | bytearray | memoryview) -> Query:
    """Read a query.

    Raises:
        QueryRefusedError: It is none.
    """
    try:
        query = _decode_query(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise QueryRefusedError(f"the query cannot be read: {error}") from error
    if not 0 < len(query.keys) <= MAX_KEYS:
        raise QueryRefusedError(f"a query has between 1 and {MAX_KEYS:,} keys, and this one {len(query.keys):,}")
    return query


def decode_reply(kind: FrameType, body: bytes | bytearray | memoryview) -> Answer:
    """Read an answer.

    Raises:
        QueryableStateError: It is a failure, and this is what failed.
        MalformedFrameError: It is no answer.
    """
    try:
        if kind is FrameType.FAILURE:
            failure = _decode_failure(body)
            raise error_of(failure.code, failure.message)
        if kind is FrameType.ANSWER:
            return _decode_answer(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise MalformedFrameError(f"an answer cannot be read: {error}") from error
    raise MalformedFrameError("a request came where an answer was expected")


def error_of(code: Code, message: str) -> QueryableStateError:
    """Return the error that a code stands for."""
    return _ERRORS[code](message)


def code_of(error: BaseException) -> Code:
    """Return the code of an error."""
    return next((code for code, kind in _ERRORS.items() if type(error) is kind), Code.FAILED)

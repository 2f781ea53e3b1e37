"""Answers queries of the state that is in this slot."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from rekindle.contracts.state import AggregatingStateDescriptor
from rekindle.exceptions import (
    NoStateOwnerError,
    QueryableStateError,
    UnknownJobError,
    WrongStateTypeError,
)
from rekindle.runtime.queries import protocol as p
from rekindle.runtime.queries.query_metrics import QueryMetrics
from rekindle.runtime.queries.query_port import Reply
from rekindle.runtime.queries.query_types import QueryTypes, decode_key, plain
from rekindle.runtime.slot.queries.live_reads import LiveReads, Read
from rekindle.state.plain_values import as_json, as_text
from rekindle.state.queryable_state import QueryableState, StateBusyError


@dataclass(frozen=True, slots=True)
class ServedState:
    """Hold a state that can be queried, and how it travels."""

    state: QueryableState
    types: QueryTypes

    @staticmethod
    def of(state: QueryableState) -> ServedState:
        """Settle how a state travels."""
        return ServedState(state, QueryTypes.of(state.kind, state.serializers))


class CheckpointReader(Protocol):
    """Reads state out of the last completed checkpoint."""

    def read(self, state: QueryableState, keys: list[Any]) -> tuple[int, list[Any]]:
        """Return the number of the checkpoint, and what it holds for each key; None: nothing.

        Raises:
            NoCheckpointError: There is none, or it cannot be read.
        """


class StateServer:
    """Answer queries of the states of one slot.

    Args:
        job_id: The job.
        reads: Reads between two chunks.
        checkpoints: Reads out of the last completed checkpoint.
        metrics: Counts.
    """

    def __init__(self, job_id: str, reads: LiveReads, checkpoints: CheckpointReader, metrics: QueryMetrics) -> None:
        self._job_id = job_id
        self._reads = reads
        self._checkpoints = checkpoints
        self._metrics = metrics
        self._states: dict[str, ServedState] = {}
        # Of its own: what it reads may take seconds, and live reads do not wait for that.
        self._loading = ThreadPoolExecutor(1, thread_name_prefix="checkpointed reads")

    def serve(self, state: ServedState) -> None:
        """Answer queries of a state from now on."""
        self._states[state.state.name] = state

    def handle(self, query: p.Query, reply: Reply) -> None:
        """See to a query.

        Raises:
            QueryableStateError: It cannot be answered.
        """
        started = time.monotonic()

        def done(answer: p.Answer) -> None:
            self._metrics.answered(answer, time.monotonic() - started)
            reply(answer)

        try:
            served = self._find(query)
            types = _agreed(query, served.types)
            keys = [_Key.of(each, types, served.state) for each in query.keys]
        except QueryableStateError:
            self._metrics.failed(len(query.keys), time.monotonic() - started)
            raise
        write = partial(_json_value, served.state) if query.form is p.Form.JSON else types.encode
        if query.consistency is p.Consistency.LIVE:
            self._reads.add(_LiveRead(served.state, keys, write, done))
            return

        def read() -> None:
            try:
                done(self._read_checkpoint(served.state, keys, write))
            except BaseException as error:
                self._metrics.failed(len(keys), time.monotonic() - started)
                message = str(error) if isinstance(error, QueryableStateError) else _said(error)
                reply(p.Failure(p.code_of(error), message))

        try:
            self._loading.submit(read)
        except RuntimeError as error:
            raise NoStateOwnerError("the slot is being closed") from error

    def close(self) -> None:
        """Read no more checkpoints."""
        self._loading.shutdown(wait=False, cancel_futures=True)

    def _read_checkpoint(
        self, state: QueryableState, keys: list[_Key], write: Callable[[Any], p.QueriedValue]
    ) -> p.Answer:
        wanted = [each.key for each in keys if each.error is None]
        checkpoint_id, found = self._checkpoints.read(state, wanted)
        values = iter(found)
        results = [each.error or _result(state, each, next(values), write) for each in keys]
        return p.Answer(results, state.kind.name, checkpoint_id)

    def _find(self, query: p.Query) -> ServedState:
        if query.job_id != self._job_id:
            raise UnknownJobError(f"this is the state server of job {self._job_id}, not of {query.job_id!r}")
        served = self._states.get(query.name)
        if served is None:
            raise NoStateOwnerError(f"state {query.name!r} is not in this slot, or not yet")
        return served


def _agreed(query: p.Query, types: QueryTypes) -> QueryTypes:
    """Return how keys and values travel as client and job both understand them.

    Raises:
        WrongStateTypeError: They do not.
    """
    if query.kind and query.kind != types.kind.name:
        raise WrongStateTypeError(
            f"state {query.name!r} is a {types.kind} state, and was asked for as a {query.kind} state"
        )
    if query.key_type and query.key_type != types.key.fingerprint:
        raise WrongStateTypeError(_mismatch("keys", query.name, types.key.description, "key_type"))
    if query.state_type and query.state_type != types.state_type:
        raise WrongStateTypeError(_mismatch("values", query.name, types.described, "type in the descriptor"))
    if not query.key_type:
        types = QueryTypes(types.kind, plain(types.key), types.value, types.map_key)
    return types if query.state_type else types.as_plain()


def _mismatch(what: str, name: str, described: str, where: str) -> str:
    return (
        f"the type of the {what} of state {name!r} is {described} in the job, and another one in the query: give the "
        f"same {where}, or none to read plain data"
    )


@dataclass(frozen=True, slots=True)
class _Key:
    """A key that was asked for; or what is wrong with it."""

    key: Any
    error: p.Result | None = None

    @staticmethod
    def of(queried: p.QueriedKey, types: QueryTypes, state: QueryableState) -> _Key:
        if queried.hash % state.max_parallelism not in state.key_groups:
            return _Key(None, p.Result(None, p.Code.NO_OWNER, "the key belongs to another slot"))
        try:
            return _Key(decode_key(types.key, queried.data))
        except WrongStateTypeError as error:
            return _Key(None, p.Result(None, p.Code.WRONG_TYPE, str(error)))


class _LiveRead(Read):
    """Read the keys of one query, one with each step."""

    def __init__(
        self,
        state: QueryableState,
        keys: list[_Key],
        write: Callable[[Any], p.QueriedValue],
        done: Callable[[p.Answer], None],
    ) -> None:
        self._state = state
        self._keys = keys
        self._write = write
        self._done = done
        self._results: list[p.Result] = []

    def step(self) -> bool:
        key = self._keys[len(self._results)]
        self._results.append(key.error or self._read(key))
        return len(self._results) == len(self._keys)

    def _read(self, key: _Key) -> p.Result:
        try:
            return _result(self._state, key, self._state.peek(key.key), self._write)
        except StateBusyError:
            raise
        except BaseException as error:  # a database, or a class of the user's, may raise anything
            return p.Result(None, p.Code.FAILED, f"state {self._state.name!r} cannot be read: {_said(error)}")

    def finish(self) -> None:
        self._done(p.Answer(self._results, self._state.kind.name))


def _result(state: QueryableState, key: _Key, value: Any, write: Callable[[Any], p.QueriedValue]) -> p.Result:
    """Write what a state holds for a key, while nobody changes it."""
    if value is None or (state.kind.shape.several and not value):
        return p.Result(None, p.Code.UNKNOWN_KEY, f"state {state.name!r} holds nothing for key {as_text(key.key)}")
    try:
        return p.Result(write(value))
    except WrongStateTypeError as error:
        code, what = p.Code.WRONG_TYPE, str(error)
    except BaseException as error:  # a class of the user's may raise anything, sys.exit() included
        code, what = p.Code.FAILED, _said(error)
    return p.Result(None, code, f"the value of key {as_text(key.key)} in state {state.name!r}: {what}")


def _said(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except BaseException:
        return f"{type(error).__name__}, which cannot be described"


def _json_value(state: QueryableState, value: Any) -> p.QueriedValue:
    """Write what people see of a value: of an aggregation its result."""
    if isinstance(state.descriptor, AggregatingStateDescriptor):
        value = state.descriptor.get_agg_function().get_result(value)
    return p.QueriedValue(json.dumps(as_json(value)).encode())

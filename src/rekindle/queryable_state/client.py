"""QueryableStateClient: looks up what a running job keeps for a key."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from rekindle.base.loopback import is_loopback
from rekindle.contracts.job.job_id import JobID
from rekindle.contracts.state import State, StateDescriptor
from rekindle.exceptions import (
    NoStateOwnerError,
    QueryableStateError,
    QueryRefusedError,
    QueryTimeoutError,
    StateServerGoneError,
    UnknownKeyError,
)
from rekindle.queryable_state.client_metrics import ClientCounts, ClientMetrics
from rekindle.queryable_state.query_codec import QueryCodec
from rekindle.runtime.queries import protocol as p
from rekindle.runtime.queries.query_connection import QueryConnection
from rekindle.runtime.queries.user_token import user_token

__all__ = ["QueryableStateClient"]

_TIMEOUT_SECONDS = 10.0
_FIRST_PAUSE = 0.02  # before a query is sent again, and twice as long each time
_LONGEST_PAUSE = 0.5
_LOOK_SECONDS = 0.02  # how often somebody looks what is due
_CONNECT_SECONDS = 5.0
_REFUSALS = 3  # a proxy that is being killed may hang up as one does that does not know the token


class QueryableStateClient:
    """Query the state of running jobs through one of their proxies; from any thread.

    A query that finds the job restarting is sent again until it is answered or its time is over.

    Args:
        remote_hostname: Where a proxy of the job listens.
        remote_port: Its port; the log says where proxies listen, 9069 is the first.
        token: What the job wants to see (``queryable-state.token``). Where neither has one, on this machine, both take
            that of the user.
        timeout: How long a query may take, in seconds, if it does not say so itself.
    """

    def __init__(
        self, remote_hostname: str, remote_port: int, token: str | None = None, timeout: float = _TIMEOUT_SECONDS
    ) -> None:
        if not isinstance(remote_hostname, str) or not remote_hostname:
            raise TypeError(f"remote_hostname must be the name or address of a host, got {remote_hostname!r}")
        if not isinstance(remote_port, int) or not 0 < remote_port < 65_536:
            raise ValueError(f"remote_port must be between 1 and 65535, got {remote_port!r}")
        self._address = (remote_hostname, remote_port)
        if token is None and is_loopback(remote_hostname):
            token = user_token()
        self._secret = (token or "").encode()
        self._timeout = timeout
        self._counts = ClientCounts()
        self._codecs: dict[Any, QueryCodec] = {}
        self._connection: QueryConnection | None = None
        self._lock = threading.Lock()  # the next four
        self._dialling: socket.socket | None = None
        self._under_way: set[_Query] = set()
        self._watching: threading.Thread | None = None
        self._closed = False
        self._due = threading.Event()
        self._connecting = ThreadPoolExecutor(1, thread_name_prefix="queryable state client")

    def get_kv_state(
        self,
        job_id: JobID | str,
        queryable_state_name: str,
        key: Any,
        key_type_info: Any = None,
        state_descriptor: StateDescriptor | None = None,
        consistency: p.Consistency | str = p.Consistency.LIVE,
        timeout: float | None = None,
    ) -> Future[State]:
        """Look up what a state holds for a key.

        Args:
            job_id: The job.
            queryable_state_name: The name under which the state can be queried.
            key: The key.
            key_type_info: Its type, as ``key_by`` was given it; None: it was given none, or the key is plain data.
            state_descriptor: The state, as the job describes it; None: whatever it is, as plain data.
            consistency: ``"live"``, what the operator sees now; or ``"checkpointed"``, what the last completed
                checkpoint holds.
            timeout: How long it may take, in seconds; None: as the client says. 0: it is not sent a second time.

        Returns:
            A future of the state, which can be read only. It raises a QueryableStateError: UnknownJobError,
            UnknownStateNameError, UnknownKeyError, WrongStateTypeError, NoStateOwnerError, NoCheckpointError,
            StateServerGoneError, QueryTimeoutError or QueryRefusedError.
        """
        codec = self._codec(key_type_info, state_descriptor)
        query = codec.query(_job_id(job_id), queryable_state_name, [key], p.Consistency(consistency))
        return self._ask(query, lambda answer: codec.state(answer.results[0], answer.kind), timeout)

    def get_kv_states(
        self,
        job_id: JobID | str,
        queryable_state_name: str,
        keys: Iterable[Any],
        key_type_info: Any = None,
        state_descriptor: StateDescriptor | None = None,
        consistency: p.Consistency | str = p.Consistency.LIVE,
        timeout: float | None = None,
    ) -> Future[dict[Any, State]]:
        """Look up what a state holds for many keys, 10,000 at most, in one query.

        Each key is read at a moment of its own.

        Returns:
            A future of the states by key. Keys for which the state holds nothing are not in it; whatever else is wrong
            with a key raises.
        """
        asked = list(keys)
        codec = self._codec(key_type_info, state_descriptor)
        query = codec.query(_job_id(job_id), queryable_state_name, asked, p.Consistency(consistency))

        def states(answer: p.Answer) -> dict[Any, State]:
            results = zip(asked, answer.results, strict=True)
            there = ((key, result) for key, result in results if result.code is not p.Code.UNKNOWN_KEY)
            return {key: codec.state(result, answer.kind) for key, result in there}

        if not asked:
            nothing: Future[dict[Any, State]] = Future()
            nothing.set_result({})
            return nothing
        return self._ask(query, states, timeout)

    def metrics(self) -> ClientMetrics:
        """Return what this client has counted: queries, failures, retries, latencies."""
        return self._counts.read()

    def shutdown(self) -> Future[None]:
        """Hang up; queries under way fail. Returns a future that is done when nothing is left of the client."""
        with self._lock:
            self._closed = True
            under_way, watching, dialling = list(self._under_way), self._watching, self._dialling
        for query in under_way:
            self._fail(query, StateServerGoneError("the client was shut down"))
        over: Future[None] = Future()

        def end() -> None:
            self._due.set()
            if watching is not None:
                watching.join()
            if dialling is not None:
                with suppress(OSError):
                    dialling.shutdown(socket.SHUT_RDWR)
            self._connecting.shutdown(wait=True, cancel_futures=True)
            if self._connection is not None:
                self._connection.close()
            over.set_result(None)

        threading.Thread(target=end, daemon=True, name="queryable state client shutdown").start()
        return over

    def shutdown_and_wait(self) -> None:
        """Hang up, and wait until nothing is left of the client."""
        self.shutdown().result()

    def __enter__(self) -> QueryableStateClient:
        return self

    def __exit__(self, *error: object) -> None:
        self.shutdown_and_wait()

    # --- queries under way ---

    def _codec(self, key_type: Any, descriptor: StateDescriptor | None) -> QueryCodec:
        known = self._codecs.get((id(key_type), id(descriptor)))
        if known is not None and known.descriptor is descriptor and known.key_type is key_type:
            return known
        made = QueryCodec.of(key_type, descriptor)
        if len(self._codecs) > 100:
            self._codecs.clear()
        self._codecs[id(key_type), id(descriptor)] = made
        return made

    def _ask(self, query: p.Query, read: Callable[[p.Answer], Any], timeout: float | None) -> Future[Any]:
        asked = _Query(query, read, self._timeout if timeout is None else timeout)
        with self._lock:
            if self._closed:
                raise StateServerGoneError("the client was shut down")
            self._under_way.add(asked)
            if self._watching is None:
                self._watching = threading.Thread(target=self._watch, daemon=True, name="queryable state client")
                self._watching.start()
        self._due.set()
        self._send(asked)
        return asked.future

    def _send(self, query: _Query) -> None:
        connection = self._connection
        if connection is not None and connection.usable:
            connection.ask(query.query).add_done_callback(lambda answered: self._take(query, answered))
            return
        with suppress(RuntimeError):  # shut down: the query has failed already
            self._connecting.submit(self._connect_and_send, query)

    def _connect_and_send(self, query: _Query) -> None:
        if query.future.done():
            return  # its time was over before its turn came
        try:
            if self._connection is None or not self._connection.usable:
                if self._connection is not None:
                    self._connection.close()
                self._connection = QueryConnection(self._address, self._secret, _CONNECT_SECONDS, self._dialled)
        except QueryRefusedError as error:
            query.refusals += 1
            if query.refusals < _REFUSALS:
                self._again(query, error)
            else:
                self._fail(query, error)
        except QueryableStateError as error:
            self._again(query, error)
        else:
            self._send(query)

    def _dialled(self, sock: socket.socket) -> None:
        """Keep a socket at hand, for the case that the client is shut down before anybody answers."""
        with self._lock:
            self._dialling = sock
            closed = self._closed
        if closed:
            raise StateServerGoneError("the client was shut down")

    def _take(self, query: _Query, answered: Future[p.Answer]) -> None:
        try:
            answer = answered.result()
            for result in answer.results:
                if result.code in p.CURABLE:
                    raise p.error_of(result.code, result.message)
            value = query.read(answer)
        except (NoStateOwnerError, StateServerGoneError) as passing:
            self._again(query, passing)
        except Exception as failure:
            self._fail(query, failure)
        else:
            self._over(query, failed=False)
            with suppress(InvalidStateError):
                query.future.set_result(value)

    def _again(self, query: _Query, error: BaseException) -> None:
        """Send a query once more, unless its time is over."""
        query.error = error
        now = time.monotonic()
        query.pause = min(_LONGEST_PAUSE, query.pause * 2)
        query.again_at = now + query.pause
        if query.again_at >= query.until:
            self._fail(query, error)

    def _fail(self, query: _Query, error: BaseException) -> None:
        self._over(query, failed=not isinstance(error, UnknownKeyError))
        with suppress(InvalidStateError):
            query.future.set_exception(error)

    def _over(self, query: _Query, failed: bool) -> None:
        with self._lock:
            if query not in self._under_way:
                return
            self._under_way.discard(query)
        self._counts.over(time.monotonic() - query.started, failed)

    def _watch(self) -> None:
        """Send queries again, and let those fail whose time is over."""
        while not self._closed:
            self._due.wait()
            self._due.clear()
            while True:
                with self._lock:
                    under_way = list(self._under_way)
                if not under_way or self._closed:
                    break
                self._look(under_way)
                time.sleep(_LOOK_SECONDS)

    def _look(self, under_way: list[_Query]) -> None:
        now = time.monotonic()
        for query in under_way:
            if query.again_at is not None and query.again_at <= now:
                query.again_at = None
                self._counts.retried()
                self._send(query)
            elif query.lost_at <= now:
                seconds = query.lost_at - query.started
                where = f"{self._address[0]}:{self._address[1]}"
                self._fail(query, query.error or QueryTimeoutError(f"{where} did not answer within {seconds:g} s"))


class _Query:
    """A query that is under way."""

    def __init__(self, query: p.Query, read: Callable[[p.Answer], Any], seconds: float) -> None:
        self.query = query
        self.read = read
        self.future: Future[Any] = Future()
        self.started = time.monotonic()
        self.until = self.started + seconds
        self.lost_at = self.started + (seconds or _TIMEOUT_SECONDS)
        self.pause = _FIRST_PAUSE / 2
        self.again_at: float | None = None
        self.refusals = 0
        self.error: BaseException | None = None


def _job_id(job_id: JobID | str) -> str:
    return job_id if isinstance(job_id, str) else job_id.to_hex_string()

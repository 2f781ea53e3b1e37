"""Sends each key of a query to the slot that owns it, and puts the answers together."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec

from rekindle.exceptions import NoStateOwnerError, QueryableStateError, UnknownStateNameError
from rekindle.runtime.queries import protocol as p
from rekindle.runtime.queries.keys_meant import KeysMeant
from rekindle.runtime.queries.query_connection import QueryConnection
from rekindle.runtime.queries.query_port import Reply
from rekindle.runtime.wire.state_locations import ServerAddress, StateLocation
from rekindle.types.type_serializer import TypeSerializer

Ask = Callable[[p.Query, Reply], None]
"""Asks a state server in this process."""

_CONNECTING = 2  # threads that connect to other slots


@dataclass(frozen=True, slots=True)
class Locations:
    """Hold what is known of a job's states.

    Attributes:
        servers: Where slots answer, by their numbers.
        states: The states, by the names that clients know.
    """

    servers: tuple[ServerAddress, ...]
    states: dict[str, StateLocation]

    def find(self, name: str) -> StateLocation:
        """Return where a state is.

        Raises:
            UnknownStateNameError: There is none of that name.
        """
        found = self.states.get(name)
        if found is None:
            known = ", ".join(sorted(self.states)) or "none"
            raise UnknownStateNameError(f"the job has no queryable state {name!r}; those it has: {known}")
        return found


class Router:
    """Ask the owners of keys.

    Args:
        secret: What state servers want to know.
        key_serializer: Returns the serializer of an operator's keys, given its uid.
        own_slot: The slot this is in; None: none.
        ask_own: Asks the state server of that slot.
    """

    def __init__(
        self,
        secret: bytes,
        key_serializer: Callable[[str], TypeSerializer[Any]],
        own_slot: int | None = None,
        ask_own: Ask | None = None,
    ) -> None:
        self._secret = secret
        self._key_serializer = key_serializer
        self._own_slot = own_slot
        self._ask_own = ask_own
        self._locations: Locations | None = None
        self._lock = threading.Lock()
        self._connections: dict[tuple[str, int], QueryConnection] = {}
        self._connecting = ThreadPoolExecutor(_CONNECTING, thread_name_prefix="query routes")
        self._closed = False

    @property
    def locations(self) -> Locations:
        """Return what is known of the job's states.

        Raises:
            NoStateOwnerError: Nothing yet.
        """
        if self._locations is None:
            raise NoStateOwnerError("the job is starting or restarting: its states have no owners yet")
        return self._locations

    def locate(self, locations: Locations | None) -> None:
        """Learn where states are; None: nowhere, for now."""
        self._locations = locations

    def route(self, query: p.Query, done: Callable[[p.Answer], None]) -> None:
        """Ask the owners of all keys of a query.

        Args:
            query: The query.
            done: Is given the answer, by some thread; what failed for some keys is part of it.

        Raises:
            UnknownStateNameError: There is no such state.
            NoStateOwnerError: The job has not started yet.
            WrongStateTypeError: A key is text that cannot be a key of the state.
        """
        locations = self.locations
        location = locations.find(query.name)
        if query.form is p.Form.JSON:
            meant = KeysMeant(query, self._key_serializer(location.uid))
            self._route(meant.query, locations, location, lambda answer: done(meant.answer(answer)))
        else:
            self._route(query, locations, location, done)

    def _route(
        self, query: p.Query, locations: Locations, location: StateLocation, done: Callable[[p.Answer], None]
    ) -> None:
        by_slot: dict[int, list[int]] = {}
        for index, key in enumerate(query.keys):
            by_slot.setdefault(location.owner(key.hash), []).append(index)
        if len(by_slot) == 1 and self._own_slot in by_slot and self._ask_own is not None:
            self._ask_own(query, lambda answer: done(_as_answer(answer, len(query.keys))))
            return
        gathering = _Gathering(len(query.keys), len(by_slot), done)
        for slot, indexes in by_slot.items():
            part = query
            if len(by_slot) > 1:
                part = msgspec.structs.replace(query, keys=[query.keys[index] for index in indexes])
            self._ask(slot, locations, part).add_done_callback(gathering.taker(indexes))

    def close(self) -> None:
        """Hang up everywhere."""
        with self._lock:
            self._closed = True
            connections, self._connections = list(self._connections.values()), {}
        self._connecting.shutdown(wait=False, cancel_futures=True)
        for connection in connections:
            connection.close()

    def _ask(self, slot: int, locations: Locations, query: p.Query) -> Future[p.Answer]:
        if slot == self._own_slot and self._ask_own is not None:
            return _own_answer(self._ask_own, query)
        server = locations.servers[slot]
        address = (server.host, server.server_port)
        known = self._connections.get(address)
        if known is not None and known.usable:
            return known.ask(query)
        answer: Future[p.Answer] = Future()
        try:
            self._connecting.submit(self._connect_and_ask, address, query, answer)
        except RuntimeError:  # closed
            answer.set_exception(NoStateOwnerError("the proxy is being closed"))
        return answer

    def _connect_and_ask(self, address: tuple[str, int], query: p.Query, answer: Future[p.Answer]) -> None:
        try:
            asked = self._connection(address).ask(query)
        except Exception as error:
            answer.set_exception(error)
            return

        def pass_on(asked: Future[p.Answer]) -> None:
            error = asked.exception()
            with suppress(Exception):
                if error is None:
                    answer.set_result(asked.result())
                else:
                    answer.set_exception(error)

        asked.add_done_callback(pass_on)

    def _connection(self, address: tuple[str, int]) -> QueryConnection:
        with self._lock:
            known = self._connections.get(address)
        if known is not None and known.usable:
            return known
        made = QueryConnection(address, self._secret)
        with self._lock:
            before = self._connections.get(address)
            keep = not self._closed and (before is None or not before.usable)
            if keep:
                self._connections[address] = made
        if keep:
            return made
        made.close()
        if before is None:
            raise NoStateOwnerError("the proxy is being closed")
        return before


def _own_answer(ask: Ask, query: p.Query) -> Future[p.Answer]:
    answer: Future[p.Answer] = Future()
    try:
        ask(query, lambda reply: answer.set_result(_as_answer(reply, len(query.keys))))
    except QueryableStateError as error:
        answer.set_exception(error)
    return answer


def _as_answer(reply: p.Answer | p.Failure, keys: int) -> p.Answer:
    """Return what a state server says as an answer for each key."""
    if isinstance(reply, p.Answer):
        return reply
    return p.Answer([p.Result(None, reply.code, reply.message)] * keys)


class _Gathering:
    """Put the answers of several slots together."""

    def __init__(self, keys: int, parts: int, done: Callable[[p.Answer], None]) -> None:
        self._results = [p.Result()] * keys
        self._missing = parts
        self._done = done
        self._kind = ""
        self._checkpoint_id: int | None = None
        self._lock = threading.Lock()

    def taker(self, indexes: list[int]) -> Callable[[Future[p.Answer]], None]:
        """Return what takes the answer of the slot of some keys."""

        def take(answered: Future[p.Answer]) -> None:
            error = answered.exception()
            if error is None:
                answer = answered.result()
            else:
                code, message = p.code_of(error), str(error)
                if not isinstance(error, QueryableStateError):
                    message = f"{type(error).__name__}: {error}"
                answer = p.Answer([p.Result(None, code, message)] * len(indexes))
            with self._lock:
                for index, result in zip(indexes, answer.results, strict=False):
                    self._results[index] = result
                self._kind = answer.kind or self._kind
                if answer.checkpoint_id is not None:
                    known = self._checkpoint_id
                    self._checkpoint_id = answer.checkpoint_id if known is None else min(known, answer.checkpoint_id)
                self._missing -= 1
                finished = not self._missing
            if finished:
                self._done(p.Answer(self._results, self._kind, self._checkpoint_id))

        return take

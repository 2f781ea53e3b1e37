"""The timer services of a custom operator: any number, by name, each with timers of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rekindle.base.clock import Clock
from rekindle.contracts.operators.internal_timers import InternalTimer, InternalTimerService, Triggerable
from rekindle.exceptions import InvalidProgramError
from rekindle.runtime.at_work import at_timer
from rekindle.runtime.operators.operator import MIN_WATERMARK
from rekindle.serialization.encodings.pickle_serializer import PickleSerializer
from rekindle.serialization.serializer_of import serializer_of
from rekindle.state.blocks import EVENT_TIMERS, PROCESSING_TIMERS, KeyGroupBlock
from rekindle.state.keyed_backend import KeyedStateBackend
from rekindle.state.timer_store import TimerStore
from rekindle.types.annotations import as_type_info
from rekindle.types.type_serializer import TypeSerializer


class TimerServices:
    """Keep the timer services of one operator.

    Restored timers stay bytes until the operator asks for their service; those of a service that it does not ask for
    go into the next snapshot as they came.
    """

    def __init__(self, backend: KeyedStateBackend, clock: Clock, restored: list[KeyGroupBlock]) -> None:
        self._backend = backend
        self._clock = clock
        self._restored = list(restored)
        self._services: dict[str, _TimerService] = {}
        self.watermark = MIN_WATERMARK

    def get(self, name: str, namespace_type: Any, triggerable: Triggerable) -> InternalTimerService:
        """Return the service of a name."""
        known = self._services.get(name)
        if known is not None:
            if known.triggerable is not triggerable:
                raise InvalidProgramError(
                    f"timer service {name!r} of operator {self._backend.owner.name!r} was asked for twice, for "
                    "different triggerables; give the second one another name"
                )
            return known
        service = _TimerService(name, self, self._backend, self._clock, namespace_serializer(namespace_type))
        service.triggerable = triggerable
        for queue in (service.event, service.processing):
            own = [block for block in self._restored if block.state == queue.name]
            queue.restore_blocks(own, self._backend.max_parallelism)
            self._restored = [block for block in self._restored if block.state != queue.name]
        self._services[name] = service
        return service

    def advance_watermark(self, watermark: int) -> None:
        """Fire the event-time timers of all services that are due."""
        self.watermark = watermark
        for service in list(self._services.values()):
            self._fire(service.event, watermark, service.triggerable.on_event_time)

    def advance_processing_time(self, now: int) -> None:
        """Fire the processing-time timers of all services that are due."""
        for service in list(self._services.values()):
            self._fire(service.processing, now, service.triggerable.on_processing_time)

    def next_processing_timer(self) -> int | None:
        """Return when the next processing-time timer is due."""
        dues = (service.processing.next_timestamp() for service in self._services.values())
        return min((due for due in dues if due is not None), default=None)

    def exhaust_processing_time(self) -> None:
        """Let processing time go on to the last timer that is set now, and fire what comes of it in event time, too."""
        dues = (service.processing.latest_timestamp() for service in self._services.values())
        last = max((due for due in dues if due is not None), default=None)
        while last is not None and (due := self.next_processing_timer()) is not None and due <= last:
            self.advance_processing_time(last)
            self.advance_watermark(self.watermark)

    def blocks(self) -> Iterator[KeyGroupBlock]:
        """Encode all timers."""
        yield from self._restored
        for queue in self._queues():
            yield from queue.snapshot_blocks(self._backend.max_parallelism)

    def read_back(self, block: KeyGroupBlock) -> None:
        """Read back one of :meth:`blocks`, unless it is of a service that the operator has not asked for."""
        for queue in self._queues():
            if queue.name == block.state:
                queue.read_back(block, self._backend.max_parallelism)

    def names(self) -> list[str]:
        """Name what :meth:`blocks` gives."""
        restored = {block.state: None for block in self._restored}
        return [*restored, *(queue.name for queue in self._queues() if queue.may_hold_any())]

    def __len__(self) -> int:
        return len(self._restored) + sum(len(queue) for queue in self._queues())

    def _queues(self) -> Iterator[TimerStore]:
        for service in self._services.values():
            yield service.event
            yield service.processing

    @at_timer("due", key="self._backend.key", queue="queue.name")
    def _fire(self, queue: TimerStore, until: int, react: Callable[[InternalTimer], None]) -> None:
        while (due := queue.pop_due(until)) is not None:
            (key, namespace), timestamp = due
            self._backend.key = key
            react(InternalTimer(timestamp, key, namespace))


class _TimerService(InternalTimerService):
    triggerable: Triggerable

    def __init__(
        self,
        name: str,
        services: TimerServices,
        backend: KeyedStateBackend,
        clock: Clock,
        serializer: TypeSerializer[Any],
    ) -> None:
        self._services = services
        self._backend = backend
        self._clock = clock
        self.event = backend.timers(f"{EVENT_TIMERS}/{name}", serializer)
        self.processing = backend.timers(f"{PROCESSING_TIMERS}/{name}", serializer)

    def current_processing_time(self) -> int:
        return self._clock.now()

    def current_watermark(self) -> int:
        return self._services.watermark

    def register_event_time_timer(self, namespace: Any, time: int) -> None:
        self.event.register((self._backend.key, namespace), time)

    def delete_event_time_timer(self, namespace: Any, time: int) -> None:
        self.event.delete((self._backend.key, namespace), time)

    def register_processing_time_timer(self, namespace: Any, time: int) -> None:
        self.processing.register((self._backend.key, namespace), time)

    def delete_processing_time_timer(self, namespace: Any, time: int) -> None:
        self.processing.delete((self._backend.key, namespace), time)


def namespace_serializer(namespace_type: Any) -> TypeSerializer[Any]:
    """Return the serializer of namespaces that a program means: a type, a serializer, or None for any object."""
    if namespace_type is None:
        return PickleSerializer()
    return serializer_of(as_type_info(namespace_type, "namespace_serializer"))

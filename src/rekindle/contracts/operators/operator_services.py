"""What the system does for an operator; the methods of AbstractStreamOperator are the way to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from rekindle.contracts.functions.runtime_context import RuntimeContext
from rekindle.contracts.operators.internal_timers import InternalTimerService, Triggerable
from rekindle.contracts.operators.keyed_state_access import KeyedStateAccess
from rekindle.contracts.state import OperatorStateStore, State, StateDescriptor

__all__ = ["OperatorServices"]


class OperatorServices(ABC):
    """Serve one operator in one subtask."""

    @property
    @abstractmethod
    def runtime_context(self) -> RuntimeContext:
        """Return what functions are opened with."""

    @property
    @abstractmethod
    def operator_state(self) -> OperatorStateStore:
        """Return the state that belongs to the subtask."""

    @abstractmethod
    def keyed_backend(self) -> KeyedStateAccess:
        """Return the backend of keyed state; raises on a stream without a key."""

    @abstractmethod
    def partitioned_state(self, descriptor: StateDescriptor, namespace: Any, namespace_type: Any) -> State:
        """Return a state of the current key, in a namespace unless that is None."""

    @abstractmethod
    def timer_service(self, name: str, namespace_type: Any, triggerable: Triggerable) -> InternalTimerService:
        """Return the timers of a name."""

    @abstractmethod
    def fire_event_timers(self, watermark: int) -> None:
        """Advance event time in all timer services."""

"""The operator API: what a stream is made of, for programs that need more than a function.

An operator is an AbstractStreamOperator and, by its inputs, a OneInputStreamOperator or a TwoInputStreamOperator:
``class Deduplicate(AbstractStreamOperator, OneInputStreamOperator)``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from rekindle.contracts.functions import (
    CheckpointedFunction,
    CheckpointListener,
    Function,
    ListCheckpointed,
    RuntimeContext,
)
from rekindle.contracts.operators.internal_timers import InternalTimerService, Triggerable
from rekindle.contracts.operators.keyed_state_access import KeyedStateAccess
from rekindle.contracts.operators.operator_services import OperatorServices
from rekindle.contracts.operators.output import Output
from rekindle.contracts.operators.state_contexts import StateInitializationContext, StateSnapshotContext
from rekindle.contracts.operators.stream_record import StreamRecord, Watermark
from rekindle.contracts.state import OperatorStateStore, State, StateDescriptor
from rekindle.exceptions import InvalidProgramError

__all__ = [
    "AbstractStreamOperator",
    "AbstractUdfStreamOperator",
    "OneInputStreamOperator",
    "TwoInputStreamOperator",
]


class AbstractStreamOperator:
    """The base class of operators, with their lifecycle.

    The order is setup, initialize_state, open, records and watermarks, finish, close.

    All methods are called by one thread at a time. Whoever overrides ``setup`` or ``process_watermark`` calls the
    method here, too.

    Attributes:
        output: Takes what the operator emits.
    """

    output: Output
    _services: OperatorServices

    # --- life ---

    def setup(self, services: OperatorServices, output: Output) -> None:
        """Receive what the operator works with; called first, in the slot."""
        self._services = services
        self.output = output

    def initialize_state(self, context: StateInitializationContext) -> None:
        """Set up state, and read it back if it was restored; called before ``open``."""

    def open(self) -> None:
        """Get ready for records."""

    def process_watermark(self, mark: Watermark) -> None:
        """Fire the event-time timers that are due, then pass the watermark on."""
        self._services.fire_event_timers(mark.timestamp)
        self.output.emit_watermark(mark)

    def finish(self) -> None:
        """Emit what is left: all input has ended, and the last watermark was processed."""

    def snapshot_state(self, context: StateSnapshotContext) -> None:
        """Bring managed state up to date for a checkpoint, and write raw state; there is no current key."""

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """React to a completed checkpoint."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """React to a checkpoint that will not complete."""

    def close(self) -> None:
        """Release the operator's resources; no more records come, whether it has finished or not."""

    # --- what it may use ---

    def get_runtime_context(self) -> RuntimeContext:
        """Return the context that functions are opened with."""
        return self._services.runtime_context

    def get_operator_state_backend(self) -> OperatorStateStore:
        """Return the store of the state that belongs to the subtask."""
        return self._services.operator_state

    def get_keyed_state_backend(self) -> KeyedStateAccess:
        """Return the backend of keyed state; raises on a stream without a key."""
        return self._services.keyed_backend()

    def get_partitioned_state(
        self, state_descriptor: StateDescriptor, namespace: Any = None, namespace_type: Any = None
    ) -> State:
        """Return a state of the current key.

        Args:
            state_descriptor: The state.
            namespace: Where each key has a state of its own in every namespace: the namespace to use from now on.
                A name is used either always with namespaces or never.
            namespace_type: The type of namespaces, or their serializer; pickled if None.
        """
        return self._services.partitioned_state(state_descriptor, namespace, namespace_type)

    def get_current_key(self) -> Any:
        """Return the current key: that of the record, or of the timer."""
        return self._services.keyed_backend().key

    def set_current_key(self, key: Any) -> None:
        """Set the current key, for state and timers; it must belong to this subtask."""
        self._services.keyed_backend().key = key

    def get_internal_timer_service(
        self, name: str, namespace_serializer: Any, triggerable: Triggerable
    ) -> InternalTimerService:
        """Return the timers of a name; with every name comes a set of timers of its own.

        Args:
            name: The name, by which timers are found again after a restore.
            namespace_serializer: Serializes namespaces: a type, or a serializer; pickled if None.
            triggerable: Reacts to the timers.
        """
        return self._services.timer_service(name, namespace_serializer, triggerable)


class OneInputStreamOperator(ABC):
    """An operator with one input."""

    @abstractmethod
    def process_element(self, record: StreamRecord[Any]) -> None:
        """Process a record; on a keyed stream its key is the current key."""


class TwoInputStreamOperator(ABC):
    """An operator with two inputs; its watermark is the lower of the two."""

    @abstractmethod
    def process_element1(self, record: StreamRecord[Any]) -> None:
        """Process a record of the first input; on keyed streams its key is the current key."""

    @abstractmethod
    def process_element2(self, record: StreamRecord[Any]) -> None:
        """Process a record of the second input; on keyed streams its key is the current key."""


class AbstractUdfStreamOperator(AbstractStreamOperator):
    """An operator around a user function: it opens and closes it, and includes it in checkpoints.

    Attributes:
        user_function: The function.
    """

    def __init__(self, user_function: Function) -> None:
        if isinstance(user_function, ListCheckpointed):
            raise InvalidProgramError(
                f"{type(user_function).__name__} is ListCheckpointed, which an operator does not serve; make it a "
                "CheckpointedFunction"
            )
        self.user_function = user_function

    def get_user_function(self) -> Function:
        """Return the function."""
        return self.user_function

    def initialize_state(self, context: StateInitializationContext) -> None:
        """Let a CheckpointedFunction set up its state."""
        if isinstance(self.user_function, CheckpointedFunction):
            self.user_function.initialize_state(context)

    def open(self) -> None:
        """Open the function."""
        self.user_function.open(self.get_runtime_context())

    def snapshot_state(self, context: StateSnapshotContext) -> None:
        """Let a CheckpointedFunction bring its state up to date."""
        if isinstance(self.user_function, CheckpointedFunction):
            self.user_function.snapshot_state(context)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Tell a CheckpointListener."""
        if isinstance(self.user_function, CheckpointListener):
            self.user_function.notify_checkpoint_complete(checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """Tell a CheckpointListener."""
        if isinstance(self.user_function, CheckpointListener):
            self.user_function.notify_checkpoint_aborted(checkpoint_id)

    def close(self) -> None:
        """Close the function."""
        self.user_function.close()

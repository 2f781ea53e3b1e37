"""The life of a user function in an operator: state, open, checkpoints, close. The same for all functions."""

from __future__ import annotations

from rekindle.contracts.functions import (
    CheckpointedFunction,
    CheckpointListener,
    Function,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    KeyedStateStore,
    ListCheckpointed,
    RichFunction,
)
from rekindle.contracts.state import OperatorStateStore
from rekindle.runtime.operators.operator_context import OperatorContext
from rekindle.runtime.operators.roles import CheckpointObserver, OperatorStateOwner
from rekindle.runtime.operators.runtime_context import SlotRuntimeContext
from rekindle.state.keyed_backend import KeyedStateBackend
from rekindle.state.operator_state.backend import OperatorStateBackend
from rekindle.state.operator_state.stored import StoredList


class UserFunctionOperator(OperatorStateOwner, CheckpointObserver):
    """Call a user function, and take it through its life.

    Attributes:
        function: The function.
        operator_state: The state that belongs to this subtask, once the operator is open.
    """

    operator_state: OperatorStateBackend

    def __init__(self, function: Function) -> None:
        self.function = function

    def open(self, context: OperatorContext) -> None:
        self._open_function(context, None)

    def prepare_snapshot(self, checkpoint_id: int, timestamp: int) -> None:
        function = self.function
        if isinstance(function, CheckpointedFunction):
            function.snapshot_state(_SnapshotContext(checkpoint_id, timestamp))
        elif isinstance(function, ListCheckpointed):
            self.operator_state.own_list_state().update(function.snapshot_state(checkpoint_id, timestamp) or [])

    def snapshot_lists(self) -> dict[str, StoredList]:
        return self.operator_state.snapshot()

    def read_lists_back(self, lists: dict[str, StoredList]) -> None:
        self.operator_state.read_back(lists)

    def notify_complete(self, checkpoint_id: int) -> None:
        if isinstance(self.function, CheckpointListener):
            self.function.notify_checkpoint_complete(checkpoint_id)

    def notify_aborted(self, checkpoint_id: int) -> None:
        if isinstance(self.function, CheckpointListener):
            self.function.notify_checkpoint_aborted(checkpoint_id)

    def close(self) -> None:
        self.function.close()

    def _open_function(self, context: OperatorContext, keyed: KeyedStateBackend | None) -> None:
        """Give the function its state, then open it."""
        task = context.task
        self.operator_state = OperatorStateBackend(
            task.name, task.uid, task.subtask, task.parallelism, context.restored.lists
        )
        runtime_context = self._runtime_context(context, keyed)
        function = self.function
        if isinstance(function, RichFunction):
            function.set_runtime_context(runtime_context)
        if isinstance(function, CheckpointedFunction):
            checkpoint_id = context.restored.checkpoint_id
            function.initialize_state(_InitializationContext(checkpoint_id, self.operator_state, runtime_context))
        elif isinstance(function, ListCheckpointed):
            state = self.operator_state.own_list_state()
            if context.restored.checkpoint_id is not None:
                function.restore_state(list(state.get()))
        function.open(runtime_context)

    def _runtime_context(self, context: OperatorContext, keyed: KeyedStateBackend | None) -> SlotRuntimeContext:
        """Make what the function is opened with."""
        return SlotRuntimeContext(context, keyed)


class _InitializationContext(FunctionInitializationContext):
    def __init__(self, checkpoint_id: int | None, store: OperatorStateStore, keyed: KeyedStateStore) -> None:
        self._checkpoint_id = checkpoint_id
        self._store = store
        self._keyed = keyed

    def is_restored(self) -> bool:
        return self._checkpoint_id is not None

    def get_restored_checkpoint_id(self) -> int | None:
        return self._checkpoint_id

    def get_operator_state_store(self) -> OperatorStateStore:
        return self._store

    def get_keyed_state_store(self) -> KeyedStateStore:
        return self._keyed


class _SnapshotContext(FunctionSnapshotContext):
    def __init__(self, checkpoint_id: int, timestamp: int) -> None:
        self._checkpoint_id = checkpoint_id
        self._timestamp = timestamp

    def get_checkpoint_id(self) -> int:
        return self._checkpoint_id

    def get_checkpoint_timestamp(self) -> int:
        return self._timestamp

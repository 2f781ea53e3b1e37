"""Functions that see the records of a keyed stream in Arrow batches, and the state of many keys at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rekindle.contracts.functions.basic_functions import Function

if TYPE_CHECKING:
    import pyarrow as pa

    from rekindle.contracts.state import ValueStateDescriptor

__all__ = ["BatchValueState", "KeyedBatchFunction"]


class BatchValueState(ABC):
    """Keep one value per key; read and written for many keys at once.

    It is the state that ``RuntimeContext.get_state`` gives for the same descriptor: checkpointed, rescaled, expiring
    if the descriptor says so.
    """

    @abstractmethod
    def get_all(self, keys: pa.Array | Sequence[Any]) -> pa.Array:
        """Return the values of keys, in their order; null where a key has none.

        Args:
            keys: Keys of records in the current batch, each as often as you like.
        """

    @abstractmethod
    def update_all(self, keys: pa.Array | Sequence[Any], values: pa.Array | Sequence[Any]) -> None:
        """Give keys new values; null drops the value of a key. Of a key that is there twice, the last value counts."""

    @abstractmethod
    def clear_all(self, keys: pa.Array | Sequence[Any]) -> None:
        """Drop the values of keys."""


class KeyedBatchFunction(Function):
    """Process a keyed stream in Arrow batches, with the state of many keys at once.

    A batch holds records of one subtask, of any of its keys, in the order in which they came. How many there are in a
    batch is not defined: what a function computes must not depend on it.
    """

    class Context(ABC):
        """Describe the batch being processed; valid only during the call it is passed to."""

        @property
        @abstractmethod
        def keys(self) -> pa.Array:
            """Return the key of each row. A key that is a tuple is a struct with fields ``f0``, ``f1``, …"""

        @property
        @abstractmethod
        def timestamps(self) -> pa.Array | None:
            """Return the timestamp of each row; None if the stream has none."""

        @abstractmethod
        def current_watermark(self) -> int:
            """Return the watermark."""

        @abstractmethod
        def get_state(self, state_descriptor: ValueStateDescriptor) -> BatchValueState:
            """Return the state of a descriptor, which has a type with a form in Arrow."""

    @abstractmethod
    def process_batch(self, batch: pa.RecordBatch, ctx: KeyedBatchFunction.Context) -> Any:
        """Process some records.

        Args:
            batch: The records. Rows of a DataFrame have its columns, tuples have ``f0``, ``f1``, …, and other records
                one column ``value``.
            ctx: Their keys and timestamps, and state; not to be kept.

        Returns:
            A batch whose rows are the results, an iterable of batches (a generator, for example), or None.
        """


class CallableBatchFunction(KeyedBatchFunction):
    """Call a function with a batch and one state."""

    def __init__(self, call: Any, descriptor: ValueStateDescriptor) -> None:
        self._call = call
        self._descriptor = descriptor

    def process_batch(self, batch: pa.RecordBatch, ctx: KeyedBatchFunction.Context) -> Any:
        """Call the function."""
        return self._call(batch, ctx.get_state(self._descriptor))


def batches_of(results: Any) -> Iterable[pa.RecordBatch]:
    """Return the batches that a function has returned."""
    if results is None:
        return ()
    return (results,) if hasattr(results, "schema") else results

"""The operator of functions that see the records of a keyed stream in Arrow batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from rekindle.columns.arrow_records import (
    arrow_type,
    as_array,
    as_values,
    batch_of,
    found_array,
    inferred,
    record_batch,
    rows_of,
)
from rekindle.columns.python_values import column_values
from rekindle.contracts.functions.batch_functions import BatchValueState, KeyedBatchFunction, batches_of
from rekindle.contracts.state import ValueStateDescriptor
from rekindle.exceptions import InvalidProgramError, StateAccessError
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.column_chunk import ColumnChunk
from rekindle.runtime.operators.keyed import KeyedOperator
from rekindle.runtime.operators.operator import MIN_WATERMARK
from rekindle.runtime.operators.operator_context import OperatorContext
from rekindle.state.keyed_backend import NO_KEY, KeyedStateBackend
from rekindle.state.many_keys import ManyKeys
from rekindle.types.type_information import TypeInformation


class KeyedBatchOperator(KeyedOperator):
    """Run a KeyedBatchFunction."""

    function: KeyedBatchFunction

    def __init__(
        self, function: KeyedBatchFunction, type_info: TypeInformation | None = None, schema: pa.Schema | None = None
    ) -> None:
        """Describe the operator.

        Args:
            function: The function.
            type_info: The type of the records; None: any Python object.
            schema: What the columns are of rows that come as a DataFrame has them; None: they do not.
        """
        super().__init__(function)
        self.type_info = type_info
        self.schema = schema

    def minds_other_keys(self) -> bool:
        return False

    def _prepare(self, context: OperatorContext) -> None:
        self._context = _Context(self.backend)

    def advance_watermark(self, watermark: int) -> None:
        self._context.watermark = watermark

    def _announce(self, chunk: Chunk) -> None:
        """Leave that to those who ask for many keys."""

    def _process(self, chunk: Chunk) -> Chunk:
        batch: pa.RecordBatch | None = None
        if isinstance(chunk, ColumnChunk):
            batch = record_batch(chunk.fields, chunk.shape, self.type_info, self.schema)
        if batch is None:
            batch = batch_of(chunk.values, self.type_info, self.schema)
        self._context.begin(chunk)
        values: list[Any] = []
        try:
            for result in batches_of(self.function.process_batch(batch, self._context)):
                values += self._rows(result)
        finally:
            self.backend.key = NO_KEY
            self._context.end()
        return Chunk(values)

    @staticmethod
    def _rows(result: Any) -> list[Any]:
        if not isinstance(result, pa.RecordBatch | pa.Table):
            raise InvalidProgramError(
                f"process_batch returns Arrow batches, an iterable of them or None, and gave a {type(result).__name__}"
            )
        return rows_of(result)


class _Context(KeyedBatchFunction.Context):
    """Give keys, time and state to a KeyedBatchFunction."""

    def __init__(self, backend: KeyedStateBackend) -> None:
        self._backend = backend
        self._states: dict[str, _BatchValueState] = {}
        self._chunk: Chunk | None = None
        self._own: frozenset[Any] | None = None
        self.watermark = MIN_WATERMARK

    def begin(self, chunk: Chunk) -> None:
        """Take the records of a call."""
        self._chunk, self._own = chunk, None

    def end(self) -> None:
        """Forget them."""
        self._chunk = self._own = None

    @property
    def keys(self) -> pa.Array:
        chunk = self._current()
        if isinstance(chunk, ColumnChunk):
            columns = [_typed(column) for column in chunk.key_columns]
            if chunk.single_key:
                return columns[0]
            return pa.StructArray.from_arrays(columns, names=[f"f{place}" for place in range(len(columns))])
        keys = chunk.keys or []
        if keys and isinstance(keys[0], tuple):
            parts = [found_array(part) for part in zip(*keys, strict=True)]
            return pa.StructArray.from_arrays(parts, names=[f"f{place}" for place in range(len(parts))])
        return found_array(keys)

    @property
    def timestamps(self) -> pa.Array | None:
        stamps = self._current().timestamps
        return None if stamps is None else pa.array(stamps, pa.int64())

    def current_watermark(self) -> int:
        return self.watermark

    def get_state(self, state_descriptor: ValueStateDescriptor) -> BatchValueState:
        if not isinstance(state_descriptor, ValueStateDescriptor):
            raise InvalidProgramError(
                f"state of a batch is described by a ValueStateDescriptor, got {state_descriptor!r}"
            )
        name = state_descriptor.get_name()
        state = self._states.get(name)
        if state is None or state.descriptor != state_descriptor:
            state = self._states[name] = _BatchValueState(self, self._backend, state_descriptor)
        return state

    def checked(self, keys: list[Any], state: str) -> list[Any]:
        """Return keys, all of which the current batch has records of."""
        if self._own is None:
            self._own = frozenset(self._current().keys or ())
        if not self._own.issuperset(keys):
            stranger = next(key for key in keys if key not in self._own)
            raise StateAccessError(
                f"state {state!r} was asked for the key {stranger!r}, of which the batch has no record. The state of "
                "other keys may be in another subtask: use keys out of ctx.keys"
            )
        return keys

    def _current(self) -> Chunk:
        if self._chunk is None:
            raise StateAccessError("keys and state of a batch were used after process_batch had returned")
        return self._chunk


class _BatchValueState(BatchValueState):
    def __init__(self, context: _Context, backend: KeyedStateBackend, descriptor: ValueStateDescriptor) -> None:
        self.descriptor = descriptor
        self._context = context
        self._name = descriptor.get_name()
        self._kind = arrow_type(descriptor.type_info)
        if self._kind is None:
            raise InvalidProgramError(
                f"state {self._name!r} is read in Arrow arrays, and its type, {descriptor.type_info}, has no form in "
                "Arrow. Describe it with numbers, text, booleans, or tuples of these"
            )
        self._many = ManyKeys(backend, backend.get_or_create(descriptor))

    def get_all(self, keys: pa.Array | Sequence[Any]) -> pa.Array:
        return as_array(self._many.get(self._checked(keys)), self._kind)

    def update_all(self, keys: pa.Array | Sequence[Any], values: pa.Array | Sequence[Any]) -> None:
        given = self._checked(keys)
        new = as_values(values)
        if len(given) != len(new):
            raise InvalidProgramError(f"update_all was given {len(given):,} keys and {len(new):,} values")
        if None in new:
            latest = dict(zip(given, new, strict=True))
            self._many.clear([key for key, value in latest.items() if value is None])
            given = [key for key, value in latest.items() if value is not None]
            new = [latest[key] for key in given]
        self._many.put(given, new)

    def clear_all(self, keys: pa.Array | Sequence[Any]) -> None:
        self._many.clear(self._checked(keys))

    def _checked(self, keys: pa.Array | Sequence[Any]) -> list[Any]:
        return self._context.checked(as_values(keys), self._name)


def _typed(keys: pa.Array) -> pa.Array:
    """Return a column of keys with the type that follows from the keys, however they came."""
    typed = inferred(keys)
    return found_array(column_values(keys)) if typed is None else typed

"""A source that makes up its records, for tests and load: the counterpart of Flink's DataGeneratorSource."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic

from rekindle.base.type_variables import T
from rekindle.connectors.datagen.generator_source import GeneratorFunction, GeneratorSourceOperator
from rekindle.connectors.datagen.rate_limiter import RateLimiterStrategy
from rekindle.connectors.number_sequence import sequence_number
from rekindle.contracts.declared_types import RecordType, declared_type
from rekindle.contracts.functions.function_adapters import refuse_operator_state
from rekindle.runtime.operators.slot_source import SlotSource
from rekindle.runtime.operators.source_operator import SourceOperator

__all__ = ["DataGeneratorSource", "GeneratorFunction", "RateLimiterStrategy"]


class _CallableGenerator(GeneratorFunction):
    def __init__(self, call: Callable[[int], Any]) -> None:
        self.map = call  # type: ignore[method-assign,assignment]

    def map(self, value: int) -> Any:
        raise AssertionError


class DataGeneratorSource(SlotSource[T], Generic[T]):
    """Produce ``count`` records, each made by a function from its number; in parallel, every subtask takes a part.

    It can go back to any record, so that nothing is lost or doubled, provided that the function returns the same for
    the same number.
    """

    def __init__(
        self,
        generator_function: GeneratorFunction[T] | Callable[[int], T],
        count: int,
        type_info: RecordType | None = None,
        rate_limiter_strategy: RateLimiterStrategy | None = None,
    ) -> None:
        """Describe the source.

        Args:
            generator_function: Makes a record from its number, counted from 0; any callable will do.
            count: How many records there are.
            type_info: Their type.
            rate_limiter_strategy: How fast they may come; as fast as they can if None.
        """
        count = sequence_number(count)
        if count < 1:
            raise ValueError(f"a generator makes at least 1 record, and {count} was given")
        if not isinstance(generator_function, GeneratorFunction):
            if not callable(generator_function):
                raise TypeError(
                    "DataGeneratorSource takes a GeneratorFunction or a callable, and was given a "
                    f"{type(generator_function).__name__}"
                )
            generator_function = _CallableGenerator(generator_function)
        refuse_operator_state(generator_function, "DataGeneratorSource", "the number of a record is its only state")
        self.type_info = declared_type(type_info, "type_info of DataGeneratorSource")
        self._function = generator_function
        self._count = count
        self._strategy = rate_limiter_strategy or RateLimiterStrategy.no_op()

    @property
    def kind(self) -> str:
        return "GeneratorSourceOperator"

    def create_operator(self) -> SourceOperator:
        """Create the operator that generates in the slots."""
        return GeneratorSourceOperator(self._function, self._count, self._strategy)

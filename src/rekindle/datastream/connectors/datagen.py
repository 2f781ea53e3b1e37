"""A source that makes up its records, for tests and load: the counterpart of Flink's DataGeneratorSource."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rekindle.contracts.connectors import Source
from rekindle.contracts.declared_types import RecordType, declared_type
from rekindle.contracts.functions.basic_functions import Function
from rekindle.contracts.functions.function_adapters import refuse_operator_state
from rekindle.datastream.connectors.number_seq import sequence_number
from rekindle.exceptions import InvalidProgramError

if TYPE_CHECKING:
    from rekindle.runtime.operators.operator import SourceOperator
    from rekindle.runtime.operators.rate_limiter import RateLimiter

__all__ = ["DataGeneratorSource", "GeneratorFunction", "RateLimiterStrategy"]


class GeneratorFunction(Function):
    """Make a record out of its number."""

    @abstractmethod
    def map(self, value: int) -> Any:
        """Return the record with this number, counted from 0; the same again after a failure."""


class _CallableGenerator(GeneratorFunction):
    def __init__(self, call: Callable[[int], Any]) -> None:
        self.map = call  # type: ignore[method-assign,assignment]

    def map(self, value: int) -> Any:
        raise AssertionError


@dataclass(frozen=True)
class RateLimiterStrategy:
    """Say how fast a source may emit, all subtasks together.

    Attributes:
        records_per_second: At most so many a second, if set.
        records_per_checkpoint: At most so many from one checkpoint to the next, if set.
    """

    records_per_second: float | None = None
    records_per_checkpoint: int | None = None

    @staticmethod
    def per_second(records_per_second: float) -> RateLimiterStrategy:
        """Allow so many records a second; they come in small groups, at most ten a second."""
        if not records_per_second > 0:
            raise ValueError(f"a rate is above 0 records per second, and {records_per_second} was given")
        return RateLimiterStrategy(records_per_second=records_per_second)

    @staticmethod
    def per_checkpoint(records_per_checkpoint: int) -> RateLimiterStrategy:
        """Allow so many records from one completed checkpoint to the next."""
        if records_per_checkpoint < 1:
            raise ValueError(f"at least 1 record per checkpoint is needed, and {records_per_checkpoint} was given")
        return RateLimiterStrategy(records_per_checkpoint=records_per_checkpoint)

    @staticmethod
    def no_op() -> RateLimiterStrategy:
        """Allow any number."""
        return RateLimiterStrategy()

    def create_rate_limiter(self, parallelism: int) -> RateLimiter | None:
        """Make the limiter of one of so many subtasks; None: there is no limit."""
        from rekindle.runtime.operators.rate_limiter import PerCheckpoint, PerSecond

        if self.records_per_second is not None:
            return PerSecond(self.records_per_second / parallelism)
        if self.records_per_checkpoint is not None:
            if self.records_per_checkpoint < parallelism:
                raise InvalidProgramError(
                    f"{self.records_per_checkpoint} records per checkpoint are too few for {parallelism} subtasks: "
                    "each needs at least one. Allow more, or set a lower parallelism"
                )
            return PerCheckpoint(self.records_per_checkpoint // parallelism)
        return None


class DataGeneratorSource(Source):
    """Produce ``count`` records, each made by a function from its number; in parallel, every subtask takes a part.

    It can go back to any record, so that nothing is lost or doubled, provided that the function returns the same for
    the same number.
    """

    def __init__(
        self,
        generator_function: GeneratorFunction | Callable[[int], Any],
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

    def create_operator(self) -> SourceOperator:
        """Create the operator that generates in the slots."""
        from rekindle.runtime.operators.generator_source import GeneratorSourceOperator

        return GeneratorSourceOperator(self._function, self._count, self._strategy)

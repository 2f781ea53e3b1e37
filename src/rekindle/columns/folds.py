"""Folds: functions that accumulate records field by field, each field in one of a few ways.

``lambda a, b: (a[0], a[1] + b[1])`` keeps the first field of the first record and adds up the second field. Such a
function need not be called for each record: all fields of a batch are folded at once.
"""

from __future__ import annotations

import inspect
import operator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from rekindle.columns.expressions import Accumulated, Choice, Constant, Expression, Field, Operation, parts
from rekindle.columns.not_traceable import NotTraceable
from rekindle.columns.purity import traceable
from rekindle.columns.shapes import Shape, ShapeKind
from rekindle.columns.tracing import Traced, accumulator, record, trace
from rekindle.contracts.functions import AggregateFunction, ReduceFunction


class FoldKind(Enum):
    """Name the ways in which a field is accumulated."""

    KEEP = "keep"  # stays what it is
    LAST = "last"  # becomes that of the record
    SUM = "sum"
    DIFFERENCE = "difference"  # not a sum of what is negated: -0.0 - 0 is -0.0, and -0.0 + -0 is 0.0
    LEAST = "least"
    GREATEST = "greatest"


SUMS = frozenset({FoldKind.SUM, FoldKind.DIFFERENCE})
EXTREMES = frozenset({FoldKind.LEAST, FoldKind.GREATEST})
_COMPARISONS: dict[str, Any] = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Replacing:
    """Say when the value of a record replaces what is accumulated, as the function spells it.

    ``min(acc, v)`` takes ``v`` where ``v < acc``; ``min(v, acc)`` where not ``v > acc``. They differ for NaN, for 0.0
    and -0.0, and for 1 and 1.0.

    Attributes:
        symbol: How the value of the record is compared with what is accumulated.
        holds: Whether it replaces that where the comparison is true, not where it is false.
    """

    symbol: str
    holds: bool = True

    @property
    def kind(self) -> FoldKind:
        """Return what is kept among values that have an order."""
        return FoldKind.LEAST if (self.symbol in ("<", "<=")) is self.holds else FoldKind.GREATEST

    def __call__(self, value: Any, accumulated: Any) -> bool:
        """Return whether a value replaces what is accumulated."""
        return bool(_COMPARISONS[self.symbol](value, accumulated)) is self.holds


@dataclass(frozen=True, slots=True)
class FieldFold:
    """Say how one field is accumulated.

    Attributes:
        kind: The way.
        value: What of a record goes in; None where nothing does.
        replacing: When that replaces what is accumulated; None where the way is no extreme.
    """

    kind: FoldKind
    value: Expression | None = None
    replacing: Replacing | None = None


@dataclass(frozen=True, slots=True)
class ChosenRecord:
    """Say that one record is kept as it is: the one whose field is the least or the greatest.

    Attributes:
        place: The field.
        least: Whether it is the least, not the greatest.
        first: Whether of several the first is kept, not the last.
    """

    place: int
    least: bool
    first: bool


@dataclass(frozen=True, slots=True)
class Fold:
    """Describe a function that accumulates.

    Attributes:
        fields: How each field of the accumulator is accumulated; empty where a record is chosen.
        shape: What the accumulator is.
        initial: The fields of an empty accumulator; None: the first record is the accumulator of itself.
        record: What the records are.
        choice: Which record is kept, where one is.
    """

    fields: tuple[FieldFold, ...]
    shape: Shape
    initial: tuple[Any, ...] | None
    record: Shape
    choice: ChosenRecord | None = None


@dataclass(frozen=True, slots=True)
class FieldReduction:
    """Describe a reduction by one field, as ``sum("amount")`` makes it: such a function says itself what it does.

    Attributes:
        kind: "sum", "min", "max", "min_by" or "max_by".
        position: The place or the name of the field.
        first: With ``min_by`` and ``max_by``, which of several records is kept.
    """

    kind: str
    position: int | str
    first: bool = True


def fold_of(function: ReduceFunction | AggregateFunction, shape: Shape) -> Fold:
    """Recognise what a function does to records of a shape.

    Raises:
        NotTraceable: It is not known to be a fold.
    """
    described = inspect.getattr_static(function, "field_reduction", None)  # runs nothing of the program
    if isinstance(described, FieldReduction):
        return _described(described, shape)
    if isinstance(function, ReduceFunction):
        return _reduction(function, shape)
    return _aggregation(function, shape)


def _described(reduction: FieldReduction, shape: Shape) -> Fold:
    position = reduction.position
    if isinstance(position, str):
        if shape.kind is not ShapeKind.ROW or shape.names.count(position) != 1:
            raise NotTraceable(f"records have no field {position!r}")
        place = shape.names.index(position)
    elif type(position) is int and -len(shape) <= position < len(shape):
        place = position % len(shape)
    else:
        raise NotTraceable(f"records have no field {position!r}")
    if reduction.kind in ("min_by", "max_by"):
        return Fold((), shape, None, shape, ChosenRecord(place, reduction.kind == "min_by", reduction.first))
    folds = [FieldFold(FoldKind.KEEP)] * len(shape)
    if reduction.kind == "sum":
        folds[place] = FieldFold(FoldKind.SUM, Field(place))
    else:
        folds[place] = _extreme(Field(place), Replacing("<" if reduction.kind == "min" else ">"))
    return Fold(tuple(folds), shape, None, shape)


def _reduction(function: ReduceFunction, shape: Shape) -> Fold:
    call = traceable(function, "reduce")
    first = trace(call, accumulator(shape), record(shape))
    if len(first.shape) != len(shape) or (first.shape.kind is ShapeKind.VALUE) != (shape.kind is ShapeKind.VALUE):
        raise NotTraceable("it returns another kind of record than it is given")
    again = first if first.shape == shape else trace(call, accumulator(first.shape), record(shape))
    if again.shape != first.shape or again.fields != first.fields:
        raise NotTraceable("it does something else with its own results than with records")
    return Fold(_field_folds(first), first.shape, None, shape)


def _aggregation(function: AggregateFunction, shape: Shape) -> Fold:
    empty = trace(traceable(function, "create_accumulator"))
    if any(not isinstance(part, Constant) for part in empty.fields):
        raise NotTraceable("create_accumulator does not return constants")
    added = trace(traceable(function, "add"), record(shape), accumulator(empty.shape))
    if added.shape != empty.shape:
        raise NotTraceable("add returns another kind of accumulator than create_accumulator")
    initial = tuple(part.value for part in empty.fields if isinstance(part, Constant))
    if empty.shape.kind is ShapeKind.VALUE and initial == (None,):
        raise NotTraceable("create_accumulator returns None")
    return Fold(_field_folds(added), empty.shape, initial, shape)


def _field_folds(after: Traced) -> tuple[FieldFold, ...]:
    return tuple(_field_fold(expression, place) for place, expression in enumerate(after.fields))


def _field_fold(after: Expression, place: int) -> FieldFold:
    own = Accumulated(place)
    if after == own:
        return FieldFold(FoldKind.KEEP)
    if _is_of_record(after):
        return FieldFold(FoldKind.LAST, after)
    match after:
        case Operation("+", (one, other)):
            for accumulated, value in ((one, other), (other, one)):
                if accumulated == own and _is_of_record(value):
                    return FieldFold(FoldKind.SUM, value)
        case Operation("-", (accumulated, value)) if accumulated == own and _is_of_record(value):
            return FieldFold(FoldKind.DIFFERENCE, value)
        case Choice(Operation(symbol, (left, right)), then, otherwise) if symbol in _MIRRORED and own in (left, right):
            # min(acc, x) is "x if x < acc else acc", max(acc, x) is "x if x > acc else acc": so are they written out.
            compared, value = (symbol, left) if right == own else (_MIRRORED[symbol], right)
            if _is_of_record(value) and (then, otherwise) in ((own, value), (value, own)):
                return _extreme(value, Replacing(compared, then == value))
    raise NotTraceable(f"it makes field {place} of the accumulator in a way that is not known as a fold")


def _extreme(value: Expression, replacing: Replacing) -> FieldFold:
    return FieldFold(replacing.kind, value, replacing)


def _is_of_record(expression: Expression) -> bool:
    return not any(isinstance(part, Accumulated) for part in parts(expression))

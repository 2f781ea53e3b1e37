"""Folds: functions that accumulate records field by field, each field in one of a few ways.

``lambda a, b: (a[0], a[1] + b[1])`` keeps the first field of the first record and adds up the second field. Such a
function need not be called for each record: all fields of a batch are folded at once.
"""

from __future__ import annotations

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
    LEAST = "least"
    GREATEST = "greatest"


@dataclass(frozen=True, slots=True)
class FieldFold:
    """Say how one field is accumulated.

    Attributes:
        kind: The way.
        value: What of a record goes in; None where nothing does.
    """

    kind: FoldKind
    value: Expression | None = None


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
    described = getattr(function, "field_reduction", None)
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
    kind = {"sum": FoldKind.SUM, "min": FoldKind.LEAST, "max": FoldKind.GREATEST}[reduction.kind]
    folds = tuple(
        FieldFold(kind, Field(other)) if other == place else FieldFold(FoldKind.KEEP) for other in range(len(shape))
    )
    return Fold(folds, shape, None, shape)


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
            return FieldFold(FoldKind.SUM, Operation("neg", (value,)))
        case Choice(Operation(symbol, (left, right)), then, otherwise) if symbol in _DIRECTIONS:
            # min(acc, x) is "x if x < acc else acc", max(acc, x) is "x if x > acc else acc": so are they written out.
            less, value = (_DIRECTIONS[symbol], left) if right == own else (not _DIRECTIONS[symbol], right)
            if own in (left, right) and _is_of_record(value) and {then, otherwise} == {own, value}:
                keeps_less = less if then == value else not less
                return FieldFold(FoldKind.LEAST if keeps_less else FoldKind.GREATEST, value)
    raise NotTraceable(f"it makes field {place} of the accumulator in a way that is not known as a fold")


_DIRECTIONS = {"<": True, "<=": True, ">": False, ">=": False}


def _is_of_record(expression: Expression) -> bool:
    return not any(isinstance(part, Accumulated) for part in parts(expression))

"""What a traced function does to the fields of a record: trees of operations. Pure values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

Scalar: TypeAlias = int | float | str | bool | bytes | None
"""What may stand in an expression as it is."""


@dataclass(frozen=True, slots=True)
class Field:
    """Stand for a field of the record, by its place."""

    place: int


@dataclass(frozen=True, slots=True)
class Accumulated:
    """Stand for a field of what has been accumulated so far, by its place."""

    place: int


@dataclass(frozen=True, slots=True)
class Constant:
    """Stand for a value; 1, 1.0 and True are different ones, and so are 0.0 and -0.0.

    Attributes:
        value: The value.
        kind: The name of its type.
        text: How it is written: what tells constants apart.
    """

    value: Scalar = field(compare=False)
    kind: str
    text: str

    @staticmethod
    def of(value: Scalar) -> Constant:
        """Make a constant."""
        return Constant(value, type(value).__name__, repr(value))


@dataclass(frozen=True, slots=True)
class Operation:
    """Apply an operator of Python's, by its symbol."""

    symbol: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Take one of two, by the truth of a condition."""

    condition: Expression
    then: Expression
    otherwise: Expression


Expression: TypeAlias = Field | Accumulated | Constant | Operation | Choice


def parts(expression: Expression) -> Iterator[Expression]:
    """Return an expression and all that it is made of."""
    yield expression
    if isinstance(expression, Operation):
        for operand in expression.operands:
            yield from parts(operand)
    elif isinstance(expression, Choice):
        for part in (expression.condition, expression.then, expression.otherwise):
            yield from parts(part)


def chosen(condition: Expression, then: Expression, otherwise: Expression) -> Expression:
    """Return the choice between two, or the one that both are."""
    return then if then == otherwise else Choice(condition, then, otherwise)


def substituted(expression: Expression, fields: tuple[Expression, ...]) -> Expression:
    """Return an expression with others in the place of its fields: those that the fields are computed by."""
    match expression:
        case Field(place):
            return fields[place]
        case Operation(symbol, operands):
            return Operation(symbol, tuple(substituted(operand, fields) for operand in operands))
        case Choice(condition, then, otherwise):
            return chosen(substituted(condition, fields), substituted(then, fields), substituted(otherwise, fields))
    return expression

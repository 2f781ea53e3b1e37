"""Which kinds of values expressions have, as far as that is known before there are any. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from rekindle.columns.expressions import Accumulated, Choice, Constant, Expression, Field, Operation
from rekindle.columns.not_traceable import NotTraceable


class Kind(Enum):
    """Name what the values of a column are to Python."""

    INT = "int"
    FLOAT = "float"
    BOOL = "bool"
    TEXT = "str"
    OTHER = "other"  # carried along, never computed with


NUMBERS = frozenset({Kind.INT, Kind.FLOAT})
ARITHMETIC = frozenset({"+", "-", "*", "/"})
WHOLE = frozenset({"//", "%"})
COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})

_OF_SPARK = {
    "tinyint": Kind.INT,
    "smallint": Kind.INT,
    "int": Kind.INT,
    "bigint": Kind.INT,
    "float": Kind.FLOAT,
    "double": Kind.FLOAT,
    "boolean": Kind.BOOL,
    "string": Kind.TEXT,
}
_OF_PYTHON = {"int": Kind.INT, "float": Kind.FLOAT, "bool": Kind.BOOL, "str": Kind.TEXT}


def kind_of_spark(type_name: str) -> Kind:
    """Return the kind of a DataFrame's column, by the name of its type in Spark SQL."""
    return _OF_SPARK.get(type_name, Kind.OTHER)


def kind_of(expression: Expression, fields: Sequence[Kind]) -> Kind:
    """Return the kind of an expression, given those of the fields.

    Raises:
        NotTraceable: It computes with values that are not computed with by columns.
    """
    match expression:
        case Field(place):
            return fields[place]
        case Constant(kind=kind):
            return _OF_PYTHON.get(kind, Kind.OTHER)
        case Choice(condition, then, otherwise):
            truth_of(condition, fields)
            kinds = {kind_of(then, fields), kind_of(otherwise, fields)}
            if len(kinds) == 1 and kinds <= NUMBERS | {Kind.BOOL}:
                return kinds.pop()
            raise NotTraceable(
                "it returns values of different types from its branches, or such that are not computed by columns"
            )
        case Operation(symbol, operands):
            return _of_operation(symbol, [kind_of(operand, fields) for operand in operands])
        case Accumulated():
            raise NotTraceable("it uses the accumulator in a way that is not known as a fold")


def truth_of(condition: Expression, fields: Sequence[Kind]) -> None:
    """Raise NotTraceable unless the truth of an expression is computed by columns."""
    kind = kind_of(condition, fields)
    if kind not in NUMBERS | {Kind.BOOL}:
        raise NotTraceable(f"it asks for the truth of a value of type {kind.value}")


def _of_operation(symbol: str, kinds: list[Kind]) -> Kind:
    if symbol in COMPARISONS:
        same = len(set(kinds)) == 1
        if NUMBERS.issuperset(kinds) or (same and kinds[0] is Kind.TEXT):
            return Kind.BOOL
    elif NUMBERS.issuperset(kinds):
        if symbol == "/" or (Kind.FLOAT in kinds and symbol not in WHOLE):
            return Kind.FLOAT
        if Kind.FLOAT not in kinds:
            return Kind.INT
    names = " and ".join(kind.value for kind in kinds)
    raise NotTraceable(f"it applies {symbol} to {names}, which is not computed by columns")

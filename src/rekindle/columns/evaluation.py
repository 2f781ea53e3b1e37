"""Computes expressions for all rows of a batch, with the results that Python has; or not at all.

Python's integers do not overflow, and dividing by zero raises. Where a batch might come to that, where there are nulls
or where Arrow and Python differ in any other way, :class:`NotColumnar` is raised, and the program's own functions run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from logging import getLogger
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rekindle.columns.expressions import Accumulated, Choice, Constant, Expression, Field, Operation

_LOG = getLogger(__name__)
_MOST = (1 << 63) - 1
_EXACT = 1 << 53  # integers up to here are floats without loss

Array: TypeAlias = npt.NDArray[Any]
Values: TypeAlias = Array | int | float | bool | str
"""One value for each row, or one for all."""


class NotColumnar(Exception):  # noqa: N818 - a signal: the rows are processed one by one
    """Say that a batch is not computed by columns."""


@contextmanager
def columnar() -> Iterator[None]:
    """Let whatever fails mean that a batch is not computed by columns: the loop raises the program's own error."""
    try:
        yield
    except NotColumnar:
        raise
    except Exception as error:
        _log_once(f"{type(error).__name__}: {error}")
        raise NotColumnar("a kernel failed") from error


@cache
def _log_once(error: str) -> None:
    _LOG.warning("a batch is processed record by record, because processing it by columns failed: %s", error)


def column(expression: Expression, fields: Sequence[pa.Array], rows: int) -> pa.Array:
    """Compute an expression as a column; one that is only a field is given as it is, whatever is in it."""
    if isinstance(expression, Field):
        return fields[expression.place]
    if isinstance(expression, Constant):
        return pa.repeat(pa.scalar(expression.value), rows)
    return pa.array(numbers(expression, fields, rows))


def numbers(expression: Expression, fields: Sequence[pa.Array], rows: int) -> Array:
    """Compute an expression as an array of int64, float64 or bool.

    Raises:
        NotColumnar: It cannot be known to have the values that Python would give.
    """
    with np.errstate(all="ignore"):
        values = _evaluated(expression, fields, rows)
    if isinstance(values, str):
        raise NotColumnar("text where a number is needed")
    if not isinstance(values, np.ndarray):
        if isinstance(values, int) and not -_MOST <= values <= _MOST:
            raise NotColumnar("a constant that has more than 64 bits")
        return np.full(rows, values)
    return values


def truth(expression: Expression, fields: Sequence[pa.Array], rows: int) -> npt.NDArray[np.bool_]:
    """Compute for which rows an expression is true."""
    values = numbers(expression, fields, rows)
    return values if values.dtype == np.bool_ else values != 0


def _evaluated(expression: Expression, fields: Sequence[pa.Array], rows: int) -> Values:
    match expression:
        case Field(place):
            return as_numpy(fields[place])
        case Constant(value=value):
            if value is None or isinstance(value, bytes):
                raise NotColumnar("a constant that is no number")
            return value
        case Operation(symbol, operands) if symbol in _COMPARED and any(_is_text(o, fields) for o in operands):
            return _compared_texts(symbol, [_text(operand, fields) for operand in operands])
        case Operation(symbol, operands):
            result: Values = _OPERATIONS[symbol](*(_number(_evaluated(o, fields, rows)) for o in operands))
            return result
        case Choice(condition, then, otherwise):
            return _choice(truth(condition, fields, rows), then, otherwise, fields)
        case Accumulated():
            raise AssertionError("accumulators are not part of a batch")


def as_numpy(values: pa.Array) -> Array:
    """Return a column as an array of int64, float64 or bool.

    Raises:
        NotColumnar: It is of another type, or has nulls.
    """
    if values.null_count:
        raise NotColumnar("nulls")
    kind = values.type
    if not (pa.types.is_signed_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise NotColumnar(f"a column of type {kind}")
    array: Array = values.to_numpy(zero_copy_only=False)
    return (
        array
        if array.dtype.kind == "b"
        else array.astype(np.float64 if array.dtype.kind == "f" else np.int64, copy=False)
    )


def _number(values: Values) -> Values:
    kind = values.dtype.kind if isinstance(values, np.ndarray) else type(values)
    if kind not in ("i", "f", int, float):
        raise NotColumnar("arithmetic with what is no number")
    return values


def _is_float(values: Values) -> bool:
    return values.dtype.kind == "f" if isinstance(values, np.ndarray) else isinstance(values, float)


def _bounds(values: Values) -> tuple[int, int]:
    """Return the least and the greatest of integers."""
    if isinstance(values, np.ndarray):
        return (int(values.min()), int(values.max())) if len(values) else (0, 0)
    return int(values), int(values)


def _exact_only(*values: Values) -> None:
    """Raise if an integer is not a float without loss."""
    for each in values:
        if not _is_float(each):
            least, greatest = _bounds(each)
            if least < -_EXACT or greatest > _EXACT:
                raise NotColumnar("integers of more than 53 bits beside floats")


def _fits(*extremes: int) -> None:
    if min(extremes) < -_MOST or max(extremes) > _MOST:
        raise NotColumnar("integers that may have more than 64 bits")


def _floats(*values: Values) -> list[Any]:
    """Convert integers as Python does beside a float: to the nearest one."""
    try:
        return [
            value.astype(np.float64, copy=False) if isinstance(value, np.ndarray) else float(value) for value in values
        ]
    except OverflowError:
        raise NotColumnar("an integer that is too large for a float") from None


def _added(a: Any, b: Any) -> Values:
    if _is_float(a) or _is_float(b):
        a, b = _floats(a, b)
    else:
        (low_a, high_a), (low_b, high_b) = _bounds(a), _bounds(b)
        _fits(low_a + low_b, high_a + high_b, low_a, high_a, low_b, high_b)
    return a + b  # type: ignore[no-any-return]


def _subtracted(a: Any, b: Any) -> Values:
    if _is_float(a) or _is_float(b):
        a, b = _floats(a, b)
    else:
        (low_a, high_a), (low_b, high_b) = _bounds(a), _bounds(b)
        _fits(low_a - high_b, high_a - low_b, low_a, high_a, low_b, high_b)
    return a - b  # type: ignore[no-any-return]


def _multiplied(a: Any, b: Any) -> Values:
    if _is_float(a) or _is_float(b):
        a, b = _floats(a, b)
    else:
        products = [one * other for one in _bounds(a) for other in _bounds(b)]
        _fits(*products, *_bounds(a), *_bounds(b))
    return a * b  # type: ignore[no-any-return]


def _divided(a: Any, b: Any) -> Values:
    _no_zero(b)
    if not _is_float(a) and not _is_float(b):
        _exact_only(a, b)  # Python divides integers without rounding them first
    a, b = _floats(a, b)
    return a / b  # type: ignore[no-any-return]


def _floor_divided(a: Any, b: Any) -> Values:
    _whole(a, b)
    return a // b  # type: ignore[no-any-return]


def _remainder(a: Any, b: Any) -> Values:
    _whole(a, b)
    return a % b  # type: ignore[no-any-return]


def _whole(a: Values, b: Values) -> None:
    _no_zero(b)
    if _is_float(a) or _is_float(b):
        raise NotColumnar("whole division of floats")
    _fits(*_bounds(a), *_bounds(b))


def _no_zero(divisor: Values) -> None:
    if not np.all(divisor):
        raise NotColumnar("a division by zero")


def _negated(a: Any) -> Values:
    if not _is_float(a):
        _fits(*_bounds(a))
    return -a  # type: ignore[no-any-return]


def _absolute(a: Any) -> Values:
    if not _is_float(a):
        _fits(*_bounds(a))
    return abs(a)  # type: ignore[no-any-return]


def _comparison(compare: Any) -> Any:
    def compared(a: Any, b: Any) -> Values:
        if _is_float(a) != _is_float(b):
            _exact_only(a, b)  # Python compares an integer and a float without rounding
        if not isinstance(a, np.ndarray) and not isinstance(b, np.ndarray):
            return bool(compare(a, b))
        _fits(*(bound for each in (a, b) if type(each) is int for bound in _bounds(each)), 0)
        return compare(a, b)  # type: ignore[no-any-return]

    return compared


_COMPARED = {
    "<": (np.less, pc.less),
    "<=": (np.less_equal, pc.less_equal),
    ">": (np.greater, pc.greater),
    ">=": (np.greater_equal, pc.greater_equal),
    "==": (np.equal, pc.equal),
    "!=": (np.not_equal, pc.not_equal),
}
_OPERATIONS: dict[str, Any] = {
    "+": _added,
    "-": _subtracted,
    "*": _multiplied,
    "/": _divided,
    "//": _floor_divided,
    "%": _remainder,
    "neg": _negated,
    "abs": _absolute,
    **{symbol: _comparison(compare) for symbol, (compare, _) in _COMPARED.items()},
}


def _is_text(expression: Expression, fields: Sequence[pa.Array]) -> bool:
    if isinstance(expression, Constant):
        return isinstance(expression.value, str)
    return isinstance(expression, Field) and pa.types.is_string(fields[expression.place].type)


def _text(expression: Expression, fields: Sequence[pa.Array]) -> pa.Array | pa.Scalar:
    if not _is_text(expression, fields):
        raise NotColumnar("text beside something else")
    if isinstance(expression, Constant):
        return pa.scalar(expression.value)
    assert isinstance(expression, Field)
    return fields[expression.place]


def _compared_texts(symbol: str, operands: list[pa.Array | pa.Scalar]) -> Array:
    """Compare text: by code points as in Python, which is the order of UTF-8's bytes."""
    with_nulls = sum(isinstance(operand, pa.Array) and operand.null_count > 0 for operand in operands)
    if with_nulls > 1 or (with_nulls and symbol not in ("==", "!=")):
        raise NotColumnar("nulls")
    compared = _COMPARED[symbol][1](*operands)
    if with_nulls:
        compared = compared.fill_null(symbol == "!=")
    if isinstance(compared, pa.Scalar):
        return compared.as_py()  # type: ignore[no-any-return]
    return compared.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def _choice(mask: npt.NDArray[np.bool_], then: Expression, otherwise: Expression, fields: Sequence[pa.Array]) -> Array:
    """Compute each branch for the rows that take it only: the other may not be computed for them."""
    result: Array | None = None
    for rows, expression in ((mask, then), (~mask, otherwise)):
        count = int(np.count_nonzero(rows))
        if not count:
            continue
        selected = [values.filter(pa.array(rows)) for values in fields]
        values = numbers(expression, selected, count)
        if result is None:
            result = np.empty(len(mask), values.dtype)
        elif result.dtype != values.dtype:
            raise NotColumnar("branches of different types")
        result[rows] = values
    return np.empty(0, np.int64) if result is None else result

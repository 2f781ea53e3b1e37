"""Calls functions with stand-ins for records, and learns what they do to them.

A stand-in notes every operator that is applied to it. Where a function asks for the truth of one, it is called again
for each of the answers, so that a branch becomes a choice between two expressions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rekindle.columns.expressions import Accumulated, Constant, Expression, Field, Operation, chosen, parts
from rekindle.columns.not_traceable import NotTraceable
from rekindle.columns.shapes import Shape, ShapeKind

_MOST_BRANCHES = 5  # one after the other: up to 32 calls
_METHODS_OF_ROWS = frozenset({"asDict"})


class Traced:
    """Hold what a function returns: an expression for each field, and how they make a record."""

    __slots__ = ("fields", "shape")

    def __init__(self, fields: tuple[Expression, ...], shape: Shape) -> None:
        self.fields = fields
        self.shape = shape


def trace(call: Callable[..., Any], *arguments: Any) -> Traced:
    """Call a function with stand-ins, in all ways that it may branch.

    Args:
        call: A function as :mod:`rekindle.columns.purity` returns it.
        arguments: What to call it with: stand-ins, and values that are what they will be.

    Raises:
        NotTraceable: It does something that has no column form.
    """
    return _explored(call, arguments, ())


def _explored(call: Callable[..., Any], arguments: tuple[Any, ...], answers: tuple[bool, ...]) -> Traced:
    asked = _Asked(answers)
    given = [_asking(argument, asked) for argument in arguments]
    try:
        result = _fields_of(call(*given))
        asked.check_used(result.fields)
    except _NextBranch:
        if len(answers) == _MOST_BRANCHES:
            raise NotTraceable("it has too many branches") from None
        condition = asked.conditions[-1]
        then = _explored(call, arguments, (*answers, True))
        otherwise = _explored(call, arguments, (*answers, False))
        if then.shape != otherwise.shape:
            raise NotTraceable("it returns records of different kinds from its branches") from None
        if then.fields == otherwise.fields:
            raise NotTraceable("it has a branch that makes no difference") from None
        pairs = zip(then.fields, otherwise.fields, strict=True)
        return Traced(tuple(chosen(condition, one, other) for one, other in pairs), then.shape)
    except NotTraceable as reason:
        raise reason.at(_line_of(reason)) from None
    except Exception as error:
        what = f"it does something that has no column form ({type(error).__name__}: {error})"
        raise NotTraceable(what, _line_of(error)) from None
    return result


def _line_of(error: BaseException) -> int | None:
    """Return the line of the traced function, or of one that it called, in which an error came up."""
    found = None
    frame = error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_globals.get("__name__") is None:  # only copies of functions are in no module
            found = frame.tb_lineno
        frame = frame.tb_next
    return found


def _fields_of(result: Any) -> Traced:
    if isinstance(result, RecordStandIn):
        fields, shape, _ = result._rekindle
        return Traced(fields, shape)
    if type(result) is tuple:
        return Traced(tuple(_expression(part) for part in result), Shape.tuple(len(result)))
    return Traced((_expression(result),), Shape.value())


def _expression(part: Any) -> Expression:
    if isinstance(part, ValueStandIn):
        return part._rekindle[0]
    if type(part) in (int, float, str, bool, bytes, type(None)):
        return Constant.of(part)
    raise NotTraceable(f"it returns a {type(part).__name__} inside of a record")


class _Asked:
    """Hold the answers to give to a function that asks for truth, what it has asked, and all that it has computed."""

    __slots__ = ("answers", "computed", "conditions")

    def __init__(self, answers: tuple[bool, ...]) -> None:
        self.answers = answers
        self.conditions: list[Expression] = []
        self.computed: list[Expression] = []

    def check_used(self, results: tuple[Expression, ...]) -> None:
        """Raise if something was computed for nothing: it may fail, and so would the function."""
        used = {part for result in (*results, *self.conditions) for part in parts(result)}
        if not used.issuperset(self.computed):
            raise NotTraceable("it computes something that it does not use")

    def answer(self, condition: Expression) -> bool:
        self.conditions.append(condition)
        if len(self.conditions) > len(self.answers):
            raise _NextBranch
        return self.answers[len(self.conditions) - 1]


class _NextBranch(BaseException):
    """End a call in which a question came up that has two answers."""


class ValueStandIn:
    """Stand for one value: notes what is done with it.

    What it knows is in one attribute with a name that no program uses: a value may be asked for any other.
    """

    __slots__ = ("_rekindle",)

    def __init__(self, expression: Expression, asked: _Asked | None = None) -> None:
        self._rekindle = (expression, asked or _Asked(()))

    def __bool__(self) -> bool:
        expression, asked = self._rekindle
        return asked.answer(expression)

    def __add__(self, other: Any) -> ValueStandIn:
        return _noted(self, "+", self, other)

    def __radd__(self, other: Any) -> ValueStandIn:
        return _noted(self, "+", other, self)

    def __sub__(self, other: Any) -> ValueStandIn:
        return _noted(self, "-", self, other)

    def __rsub__(self, other: Any) -> ValueStandIn:
        return _noted(self, "-", other, self)

    def __mul__(self, other: Any) -> ValueStandIn:
        return _noted(self, "*", self, other)

    def __rmul__(self, other: Any) -> ValueStandIn:
        return _noted(self, "*", other, self)

    def __truediv__(self, other: Any) -> ValueStandIn:
        return _noted(self, "/", self, other)

    def __rtruediv__(self, other: Any) -> ValueStandIn:
        return _noted(self, "/", other, self)

    def __floordiv__(self, other: Any) -> ValueStandIn:
        return _noted(self, "//", self, other)

    def __rfloordiv__(self, other: Any) -> ValueStandIn:
        return _noted(self, "//", other, self)

    def __mod__(self, other: Any) -> ValueStandIn:
        return _noted(self, "%", self, other)

    def __rmod__(self, other: Any) -> ValueStandIn:
        return _noted(self, "%", other, self)

    def __neg__(self) -> ValueStandIn:
        return _noted(self, "neg", self)

    def __abs__(self) -> ValueStandIn:
        return _noted(self, "abs", self)

    def __lt__(self, other: Any) -> ValueStandIn:
        return _noted(self, "<", self, other)

    def __le__(self, other: Any) -> ValueStandIn:
        return _noted(self, "<=", self, other)

    def __gt__(self, other: Any) -> ValueStandIn:
        return _noted(self, ">", self, other)

    def __ge__(self, other: Any) -> ValueStandIn:
        return _noted(self, ">=", self, other)

    def __eq__(self, other: object) -> Any:
        return _noted(self, "==", self, other)

    def __ne__(self, other: object) -> Any:
        return _noted(self, "!=", self, other)

    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        raise NotTraceable(f"it asks a value for {name!r}")

    def __str__(self) -> str:
        raise NotTraceable("it makes text of a value")

    __repr__ = __str__


class RecordStandIn(tuple[ValueStandIn, ...]):
    """Stand for a record: a tuple, as rows are, that also gives its fields by name where they have names."""

    _rekindle: tuple[tuple[Expression, ...], Shape, _Asked]

    def __new__(cls, fields: tuple[Expression, ...], shape: Shape, asked: _Asked | None = None) -> RecordStandIn:
        asked = asked or _Asked(())
        made = super().__new__(cls, [ValueStandIn(expression, asked) for expression in fields])
        made._rekindle = (fields, shape, asked)
        return made

    def __getitem__(self, item: Any) -> Any:
        if type(item) is str and self._rekindle[1].kind is ShapeKind.ROW:
            return _named(self, item)
        if type(item) is not int or not -len(self) <= item < len(self):
            raise NotTraceable(f"it asks a record for the item {item!r}")
        return super().__getitem__(item)

    def __getattribute__(self, name: str) -> Any:
        if name == "_rekindle" or name.startswith("__"):
            return super().__getattribute__(name)
        shape = super().__getattribute__("_rekindle")[1]
        if shape.kind is not ShapeKind.ROW or hasattr(tuple, name) or name in _METHODS_OF_ROWS:
            raise NotTraceable(f"it asks a record for {name!r}")
        return _named(self, name)

    def __bool__(self) -> bool:
        raise NotTraceable("it asks for the truth of a record")

    def _compared(self, other: object) -> bool:
        raise NotTraceable("it compares records")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _compared
    __hash__ = None  # type: ignore[assignment]


def _noted(stand_in: ValueStandIn, symbol: str, *operands: Any) -> ValueStandIn:
    operation = Operation(symbol, tuple(_expression(operand) for operand in operands))
    stand_in._rekindle[1].computed.append(operation)
    return ValueStandIn(operation, stand_in._rekindle[1])


def _named(stand_in: RecordStandIn, name: str) -> ValueStandIn:
    fields, shape, asked = stand_in._rekindle
    if shape.names.count(name) != 1:
        raise NotTraceable(f"it asks a record for {name!r}")
    return ValueStandIn(fields[shape.names.index(name)], asked)


def _asking(argument: Any, asked: _Asked) -> Any:
    """Return an argument for one call, in which its questions go to ``asked``."""
    if isinstance(argument, ValueStandIn):
        return ValueStandIn(argument._rekindle[0], asked)
    if isinstance(argument, RecordStandIn):
        return RecordStandIn(*argument._rekindle[:2], asked)
    return argument


def record(shape: Shape) -> Any:
    """Return the stand-in for a record of a shape."""
    return _stand_in(tuple(Field(place) for place in range(len(shape))), shape)


def accumulator(shape: Shape) -> Any:
    """Return the stand-in for what was accumulated."""
    return _stand_in(tuple(Accumulated(place) for place in range(len(shape))), shape)


def _stand_in(expressions: tuple[Expression, ...], shape: Shape) -> Any:
    if shape.kind is ShapeKind.VALUE:
        return ValueStandIn(expressions[0])
    return RecordStandIn(expressions, shape)

"""Follows what functions do to records, instruction by instruction, and notes it as expressions.

Nothing of the program is called: its instructions are carried out here, on expressions in the place of values. Each
of them takes what is on a list of what it is known for, and everything else is refused. Where the truth of an
expression decides how it goes on, the function is followed once for each of the answers, so that a branch becomes a
choice between two expressions.
"""

from __future__ import annotations

import dis
import operator
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rekindle.columns.expressions import Accumulated, Choice, Constant, Expression, Field, Operation, chosen, parts
from rekindle.columns.not_traceable import NotTraceable
from rekindle.columns.purity import (
    SCALARS,
    BoundMethod,
    Callee,
    Getter,
    Instance,
    MathModule,
    ReadFunction,
    is_fixed,
    line_of,
)
from rekindle.columns.shapes import Shape, ShapeKind

_MOST_BRANCHES = 5  # one after the other: up to 32 calls
_MOST_CALLS = 8  # one in the other
_MOST_OPERATIONS = 500  # in one expression, counted as often as they stand in it
_METHODS_OF_ROWS = frozenset({"asDict"})
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_SYMBOLS = {number: symbol.removesuffix("=") for number, (_, symbol) in enumerate(dis._nb_ops)}  # type: ignore[attr-defined]


class Traced:
    """Hold what a function returns: an expression for each field, and how they make a record."""

    __slots__ = ("fields", "shape")

    def __init__(self, fields: tuple[Expression, ...], shape: Shape) -> None:
        self.fields = fields
        self.shape = shape


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """Stand for a record: an expression for each of its fields.

    Attributes:
        fields: The expressions.
        shape: How they make a record.
    """

    fields: tuple[Expression, ...]
    shape: Shape

    def item(self, item: Any) -> Expression:
        """Return what ``record[item]`` is."""
        if type(item) is str and self.shape.kind is ShapeKind.ROW:
            return self._named(item)
        if type(item) is not int or not -len(self.fields) <= item < len(self.fields):
            raise NotTraceable(f"it asks a record for the item {_shown(item)}")
        return self.fields[item]

    def attribute(self, name: str) -> Expression:
        """Return what ``record.name`` is."""
        if self.shape.kind is not ShapeKind.ROW or hasattr(tuple, name) or name in _METHODS_OF_ROWS or "." in name:
            raise NotTraceable(f"it asks a record for {name!r}")
        return self._named(name)

    def _named(self, name: str) -> Expression:
        if self.shape.names.count(name) != 1 or name.startswith("__"):
            raise NotTraceable(f"it asks a record for {name!r}")
        return self.fields[self.shape.names.index(name)]


def record(shape: Shape) -> Record | Expression:
    """Return what stands for a record of a shape."""
    return _standing(tuple(Field(place) for place in range(len(shape))), shape)


def accumulator(shape: Shape) -> Record | Expression:
    """Return what stands for what was accumulated."""
    return _standing(tuple(Accumulated(place) for place in range(len(shape))), shape)


def _standing(expressions: tuple[Expression, ...], shape: Shape) -> Record | Expression:
    return expressions[0] if shape.kind is ShapeKind.VALUE else Record(expressions, shape)


def trace(call: Callee, *arguments: Any) -> Traced:
    """Follow a function, in all ways that it may branch.

    Args:
        call: A function as :mod:`rekindle.columns.purity` reads it.
        arguments: What it is called with: what stands for records and accumulators, and numbers.

    Raises:
        NotTraceable: It does something that has no column form.
    """
    return _explored(call, arguments, ())


def _explored(call: Callee, arguments: tuple[Any, ...], answers: tuple[bool, ...]) -> Traced:
    asked = _Asked(answers)
    try:
        result = _fields_of(_called(call, arguments, asked))
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
    return result


def _fields_of(result: Any) -> Traced:
    if isinstance(result, Record):
        return Traced(result.fields, result.shape)
    if type(result) is tuple:
        return Traced(tuple(_expression(part, "it returns") for part in result), Shape.tuple(len(result)))
    return Traced((_expression(result, "it returns"),), Shape.value())


def _is_expression(value: Any) -> bool:
    return isinstance(value, Field | Accumulated | Constant | Operation | Choice)


def _expression(part: Any, what: str) -> Expression:
    if _is_expression(part):
        return part  # type: ignore[no-any-return]
    if type(part) in SCALARS:
        return Constant.of(part)
    raise NotTraceable(f"{what} {_kind(part)} inside of a record")


def _kind(value: Any) -> str:
    """Return what a value is called in a reason."""
    if _is_expression(value):
        return "a value"
    if isinstance(value, Record):
        return "a record"
    if isinstance(value, Instance):
        return "self"
    if isinstance(value, ReadFunction | BoundMethod):
        return "a function"
    return f"a {type(value).__name__}"


def _shown(value: Any) -> str:
    return repr(value) if is_fixed(value) else _kind(value)


class _NextBranch(BaseException):
    """End the way through a function in which a question came up that has two answers."""


class _Asked:
    """Hold the answers to give where a function asks for truth, what it has asked, and all that it has computed."""

    __slots__ = ("_calls", "_sizes", "answers", "computed", "conditions")

    def __init__(self, answers: tuple[bool, ...]) -> None:
        self.answers = answers
        self.conditions: list[Expression] = []
        self.computed: list[Expression] = []
        self._calls = 0
        self._sizes: dict[int, int] = {}  # by identity: all of them are in computed

    def check_used(self, results: tuple[Expression, ...]) -> None:
        """Raise if something was computed for nothing: it may fail, and so would the function."""
        used = {part for result in (*results, *self.conditions) for part in parts(result)}
        if not used.issuperset(self.computed):
            raise NotTraceable("it computes something that it does not use")

    def noted(self, symbol: str, *operands: Any) -> Expression:
        """Return an operation on values of which one is an expression at least."""
        given = tuple(_expression(operand, f"it applies {symbol} to") for operand in operands)
        made = Operation(symbol, given)
        size = 1 + sum(self._sizes.get(id(operand), 1) for operand in given)
        if size > _MOST_OPERATIONS:
            raise NotTraceable("it computes too much")
        self.computed.append(made)
        self._sizes[id(made)] = size
        return made

    def truth(self, value: Any) -> bool:
        """Return whether a value is true; for an expression, the answer that is to be tried."""
        if type(value) in SCALARS:
            return bool(value)
        if not _is_expression(value):
            raise NotTraceable(f"it asks for the truth of {_kind(value)}")
        self.conditions.append(value)
        if len(self.conditions) > len(self.answers):
            raise _NextBranch
        return self.answers[len(self.conditions) - 1]

    def computed_of(self, symbol: str, one: Any, other: Any) -> Any:
        """Return what an arithmetic operator makes of two values."""
        if symbol not in _ARITHMETIC:
            raise NotTraceable(f"it computes with {symbol}")
        if _is_expression(one) or _is_expression(other):
            return self.noted(symbol, one, other)
        for each in (one, other):
            if type(each) not in (int, float, bool):
                raise NotTraceable(f"it applies {symbol} to {_kind(each)}")
        return _natively(_ARITHMETIC[symbol], one, other)

    def compared(self, symbol: str, one: Any, other: Any) -> Any:
        """Return what a comparison makes of two values."""
        if _is_expression(one) or _is_expression(other):
            return self.noted(symbol, one, other)
        for each in (one, other):
            if type(each) not in SCALARS:
                raise NotTraceable(f"it compares {_kind(each)}")
        return _natively(_COMPARISONS[symbol], one, other)

    def extreme(self, symbol: str, name: str, given: tuple[Any, ...]) -> Any:
        """Return what ``min`` and ``max`` make of several values: as they do, one after the other."""
        if len(given) < 2:
            raise NotTraceable(f"it calls {name} with one argument")
        best = given[0]
        for each in given[1:]:
            if self.truth(self.compared(symbol, each, best)):
                best = each
        return best

    def absolute(self, *given: Any) -> Any:
        """Return what ``abs`` makes of a value."""
        if len(given) == 1 and _is_expression(given[0]):
            return self.noted("abs", given[0])
        if len(given) != 1 or type(given[0]) not in (int, float, bool):
            raise NotTraceable(f"it calls abs with {' and '.join(map(_kind, given)) or 'nothing'}")
        return abs(given[0])

    def result(self, function: ReadFunction, *given: Any) -> Any:
        """Return what a function returns."""
        if self._calls == _MOST_CALLS:
            raise NotTraceable("it calls functions that call functions, too deep to follow")
        self._calls += 1
        result = _Frame(function, given, self).result()
        self._calls -= 1
        return result


def _natively(function: Callable[[Any, Any], Any], one: Any, other: Any) -> Any:
    try:
        return function(one, other)
    except (ArithmeticError, TypeError) as error:
        raise NotTraceable(f"it fails ({type(error).__name__}: {error})") from None


def _called(call: Any, given: tuple[Any, ...], asked: _Asked) -> Any:
    """Return what a function returns."""
    match call:
        case ReadFunction():
            return asked.result(call, *given)
        case BoundMethod(function, instance):
            return asked.result(function, instance, *given)
        case Getter():
            return _got(call, *given)
    if call is min:
        return asked.extreme("<", "min", given)
    if call is max:
        return asked.extreme(">", "max", given)
    if call is abs:
        return asked.absolute(*given)
    raise NotTraceable(f"it calls {_kind(call)}")


def _got(getter: Getter, given: Any) -> Any:
    if not isinstance(given, Record):
        raise NotTraceable(f"it asks a value for {getter.names[0]!r}")
    found = tuple(given.item(name) if getter.items else given.attribute(name) for name in getter.names)
    return found[0] if len(found) == 1 else found


_NOTHING = object()  # where a call has no instance


class _Frame:
    """One call of a function, on its way from instruction to instruction."""

    def __init__(self, function: ReadFunction, given: tuple[Any, ...], asked: _Asked) -> None:
        self._function = function
        self._asked = asked
        self._stack: list[Any] = []
        self._next = 0
        self._places = {each.offset: place for place, each in enumerate(function.instructions)}
        code, defaults = function.code, function.defaults
        missing = code.co_argcount - len(given)
        if not 0 <= missing <= len(defaults):
            raise NotTraceable("it calls a function with a wrong number of arguments", code.co_firstlineno)
        values = (*given, *defaults[len(defaults) - missing :])
        self._local: dict[str, Any] = dict(zip(code.co_varnames, values, strict=False))

    def result(self) -> Any:
        """Return what the function returns."""
        line = self._function.code.co_firstlineno
        while True:
            instruction = self._function.instructions[self._next]
            line = line_of(instruction) or line
            self._next += 1
            if instruction.opname == "RETURN_VALUE":
                return self._stack.pop()
            if instruction.opname == "RETURN_CONST":
                return instruction.argval
            try:
                _DONE[instruction.opname](self, instruction)
            except NotTraceable as reason:
                raise reason.at(line) from None

    def nothing(self, instruction: dis.Instruction) -> None:
        pass

    def pop_top(self, instruction: dis.Instruction) -> None:
        self._stack.pop()

    def copy(self, instruction: dis.Instruction) -> None:
        self._stack.append(self._stack[-(instruction.arg or 0)])

    def swap(self, instruction: dis.Instruction) -> None:
        stack, place = self._stack, -(instruction.arg or 0)
        stack[-1], stack[place] = stack[place], stack[-1]

    def push_null(self, instruction: dis.Instruction) -> None:
        self._stack.append(_NOTHING)

    def load_const(self, instruction: dis.Instruction) -> None:
        self._stack.append(instruction.argval)

    def load_fast(self, instruction: dis.Instruction) -> None:
        names = instruction.argval
        for name in names if isinstance(names, tuple) else (names,):
            self._load_local(name)

    def _load_local(self, name: str) -> None:
        if name not in self._local:
            raise NotTraceable(f"it uses {name!r} before it has a value")
        self._stack.append(self._local[name])

    def store_fast(self, instruction: dis.Instruction) -> None:
        names = instruction.argval
        for name in names if isinstance(names, tuple) else (names,):
            self._local[name] = self._stack.pop()

    def store_fast_load_fast(self, instruction: dis.Instruction) -> None:
        stored, loaded = instruction.argval
        self._local[stored] = self._stack.pop()
        self._load_local(loaded)

    def load_around(self, instruction: dis.Instruction) -> None:
        if instruction.opname == "LOAD_GLOBAL" and (instruction.arg or 0) & 1:
            self._stack.append(_NOTHING)
        self._stack.append(self._function.around[instruction.argval])

    def load_attribute(self, instruction: dis.Instruction) -> None:
        owner, name = self._stack.pop(), instruction.argval
        # From 3.12 on, the lowest bit says that the attribute is called; a call takes two places, in any order here.
        if instruction.opname == "LOAD_METHOD" or (_CALLS_ATTRIBUTES and (instruction.arg or 0) & 1):
            self._stack.append(_NOTHING)
        self._stack.append(_attribute(owner, name))

    def call(self, instruction: dis.Instruction) -> None:
        count = instruction.arg or 0
        given = tuple(self._stack[len(self._stack) - count :])
        del self._stack[len(self._stack) - count :]
        function = [each for each in (self._stack.pop(), self._stack.pop()) if each is not _NOTHING]
        if len(function) != 1:
            raise NotTraceable("it calls something in a way that is not known")
        self._stack.append(_called(function[0], given, self._asked))

    def binary_op(self, instruction: dis.Instruction) -> None:
        symbol = _SYMBOLS.get(instruction.arg or 0, "?")
        if symbol == "[]":  # from 3.14 on
            self.subscript(instruction)
            return
        other, one = self._stack.pop(), self._stack.pop()
        self._stack.append(self._asked.computed_of(symbol, one, other))

    def compare_op(self, instruction: dis.Instruction) -> None:
        other, one = self._stack.pop(), self._stack.pop()
        self._stack.append(self._asked.compared(instruction.argval, one, other))

    def subscript(self, instruction: dis.Instruction) -> None:
        item, owner = self._stack.pop(), self._stack.pop()
        self._stack.append(_item(owner, item))

    def negative(self, instruction: dis.Instruction) -> None:
        value = self._stack.pop()
        if _is_expression(value):
            self._stack.append(self._asked.noted("neg", value))
        elif type(value) in (int, float, bool):
            self._stack.append(-value)
        else:
            raise NotTraceable(f"it negates {_kind(value)}")

    def unary_not(self, instruction: dis.Instruction) -> None:
        self._stack.append(not self._asked.truth(self._stack.pop()))

    def to_bool(self, instruction: dis.Instruction) -> None:
        self._stack.append(self._asked.truth(self._stack.pop()))

    def build_tuple(self, instruction: dis.Instruction) -> None:
        count = instruction.arg or 0
        made = tuple(self._stack[len(self._stack) - count :])
        del self._stack[len(self._stack) - count :]
        self._stack.append(made)

    def unpack(self, instruction: dis.Instruction) -> None:
        value = self._stack.pop()
        values = value.fields if isinstance(value, Record) else value
        if type(values) is not tuple or len(values) != instruction.arg:
            raise NotTraceable(f"it takes {_kind(value)} apart into {instruction.arg} parts")
        self._stack.extend(reversed(values))

    def jump(self, instruction: dis.Instruction) -> None:
        self._next = self._places[instruction.argval]

    def jump_if_true(self, instruction: dis.Instruction) -> None:
        if self._asked.truth(self._stack.pop()):
            self.jump(instruction)

    def jump_if_false(self, instruction: dis.Instruction) -> None:
        if not self._asked.truth(self._stack.pop()):
            self.jump(instruction)

    def jump_or_pop(self, instruction: dis.Instruction) -> None:
        if self._asked.truth(self._stack[-1]) is (instruction.opname == "JUMP_IF_TRUE_OR_POP"):
            self.jump(instruction)
        else:
            self._stack.pop()


def _attribute(owner: Any, name: str) -> Any:
    if isinstance(owner, Record | Instance | MathModule):
        return owner.attribute(name)
    raise NotTraceable(f"it asks {_kind(owner)} for {name!r}")


def _item(owner: Any, item: Any) -> Any:
    if isinstance(owner, Record):
        return owner.item(item)
    if type(owner) is tuple and type(item) is int and -len(owner) <= item < len(owner):
        return owner[item]
    raise NotTraceable(f"it asks {_kind(owner)} for the item {_shown(item)}")


_CALLS_ATTRIBUTES = sys.version_info >= (3, 12)
_DONE: dict[str, Callable[[_Frame, dis.Instruction], None]] = {
    **dict.fromkeys(
        ("RESUME", "CACHE", "NOP", "EXTENDED_ARG", "PRECALL", "NOT_TAKEN", "COPY_FREE_VARS"), _Frame.nothing
    ),
    "POP_TOP": _Frame.pop_top,
    "COPY": _Frame.copy,
    "SWAP": _Frame.swap,
    "PUSH_NULL": _Frame.push_null,
    **dict.fromkeys(("LOAD_CONST", "LOAD_SMALL_INT"), _Frame.load_const),
    **dict.fromkeys(("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW"), _Frame.load_fast),
    **dict.fromkeys(("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW"), _Frame.load_fast),
    **dict.fromkeys(("STORE_FAST", "STORE_FAST_STORE_FAST"), _Frame.store_fast),
    "STORE_FAST_LOAD_FAST": _Frame.store_fast_load_fast,
    **dict.fromkeys(("LOAD_GLOBAL", "LOAD_DEREF"), _Frame.load_around),
    **dict.fromkeys(("LOAD_ATTR", "LOAD_METHOD"), _Frame.load_attribute),
    "CALL": _Frame.call,
    "BINARY_OP": _Frame.binary_op,
    "COMPARE_OP": _Frame.compare_op,
    "BINARY_SUBSCR": _Frame.subscript,
    "UNARY_NEGATIVE": _Frame.negative,
    "UNARY_NOT": _Frame.unary_not,
    "TO_BOOL": _Frame.to_bool,
    "BUILD_TUPLE": _Frame.build_tuple,
    "UNPACK_SEQUENCE": _Frame.unpack,
    "JUMP_FORWARD": _Frame.jump,
    **dict.fromkeys(("POP_JUMP_IF_TRUE", "POP_JUMP_FORWARD_IF_TRUE"), _Frame.jump_if_true),
    **dict.fromkeys(("POP_JUMP_IF_FALSE", "POP_JUMP_FORWARD_IF_FALSE"), _Frame.jump_if_false),
    **dict.fromkeys(("JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP"), _Frame.jump_or_pop),
}

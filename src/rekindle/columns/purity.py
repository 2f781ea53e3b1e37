"""Which functions may be called with stand-ins: those of which it can be seen that a call leaves no trace.

A function is read, not run: each of its instructions must be one that only computes. It may use its arguments, numbers
and strings from around it, ``min``, ``max``, ``abs``, what is in ``math``, and functions that keep the same rules.
"""

from __future__ import annotations

import builtins
import dis
import inspect
import math
import types
from collections.abc import Callable
from operator import attrgetter, itemgetter
from typing import Any

from rekindle.contracts.functions import CheckpointedFunction, CheckpointListener, Function, ListCheckpointed

_SCALARS = (int, float, str, bool, bytes, type(None))
_BUILTINS = (min, max, abs)
_DEPTH = 4

# fmt: off
_HARMLESS = frozenset({
    "RESUME", "CACHE", "NOP", "EXTENDED_ARG", "POP_TOP", "COPY", "SWAP", "DUP_TOP", "ROT_TWO", "ROT_THREE",
    "PUSH_NULL", "PRECALL", "NOT_TAKEN", "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW",
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW", "STORE_FAST", "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST", "LOAD_CONST",
    "LOAD_SMALL_INT", "RETURN_VALUE", "RETURN_CONST", "BINARY_OP", "BINARY_SUBSCR", "UNARY_NEGATIVE", "UNARY_NOT",
    "TO_BOOL", "COMPARE_OP", "BUILD_TUPLE", "UNPACK_SEQUENCE", "LOAD_ATTR", "LOAD_METHOD", "LOAD_GLOBAL",
    "LOAD_DEREF", "LOAD_CLOSURE", "COPY_FREE_VARS", "CALL", "POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE",
    "POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_FORWARD_IF_FALSE", "JUMP_FORWARD", "JUMP_IF_TRUE_OR_POP",
    "JUMP_IF_FALSE_OR_POP",
})
# fmt: on
_WHAT = (
    ("GET_ITER FOR_ITER GET_AITER", "loops"),
    ("IS_OP", "asks whether something is the same object"),
    ("CONTAINS_OP", "asks whether something is in something"),
    ("STORE_ATTR DELETE_ATTR STORE_SUBSCR DELETE_SUBSCR STORE_SLICE", "changes an object"),
    ("STORE_GLOBAL DELETE_GLOBAL STORE_DEREF STORE_NAME MAKE_CELL", "has variables that others see"),
    ("FORMAT_VALUE FORMAT_SIMPLE BUILD_STRING CONVERT_VALUE", "makes text"),
    ("BUILD_LIST BUILD_MAP BUILD_SET LIST_APPEND LIST_EXTEND BUILD_CONST_KEY_MAP", "makes a list, set or dict"),
    ("RAISE_VARARGS RERAISE PUSH_EXC_INFO LOAD_ASSERTION_ERROR", "handles or raises exceptions"),
    ("YIELD_VALUE RETURN_GENERATOR SEND", "yields"),
    ("IMPORT_NAME IMPORT_FROM", "imports"),
    ("MAKE_FUNCTION", "makes a function"),
    ("KW_NAMES CALL_KW CALL_FUNCTION_EX", "calls something with named arguments"),
    ("BUILD_SLICE BINARY_SLICE", "takes a slice"),
)
_REASONS = {name: reason for names, reason in _WHAT for name in names.split()}


class NotTraceable(Exception):  # noqa: N818 - a signal, which never leaves the driver
    """Say why a function has no column form; the message goes into the plan."""


def traceable(function: Any, method: str) -> Callable[..., Any]:
    """Return a method of a user function so that it can be called with stand-ins.

    Args:
        function: An instance of a function class.
        method: The method that is called for records.

    Raises:
        NotTraceable: It may not be called for nothing.
    """
    if isinstance(function, Function) and type(function).open is not Function.open:
        raise NotTraceable("it has an open method")
    if isinstance(function, CheckpointedFunction | ListCheckpointed | CheckpointListener):
        raise NotTraceable("it takes part in checkpoints")
    return traceable_callable(getattr(function, method))


def traceable_callable(call: Any) -> Callable[..., Any]:
    """Return a callable so that it can be called with stand-ins.

    Raises:
        NotTraceable: It may not be called for nothing.
    """
    if isinstance(call, itemgetter | attrgetter):
        return call
    if isinstance(call, types.MethodType):
        _check(call.__func__, 0)
        return types.MethodType(call.__func__, _Self(call.__self__))
    if not isinstance(call, types.FunctionType):
        raise NotTraceable(f"it is a {type(call).__name__}, whose code cannot be read")
    _check(call, 0)
    return call


class _Self:
    """Stand for the instance whose method is traced: gives its numbers and strings, and methods to call."""

    __slots__ = ("_instance",)

    def __init__(self, instance: object) -> None:
        self._instance = instance

    def __getattr__(self, name: str) -> Any:
        try:
            found = inspect.getattr_static(self._instance, name)
        except AttributeError:
            raise NotTraceable(f"it asks for self.{name}, which is not there yet") from None
        if isinstance(found, staticmethod):
            found = found.__func__
            _check(found, 1)
            return found
        if isinstance(found, types.FunctionType):
            _check(found, 1)
            return types.MethodType(found, self)
        if not _is_fixed(found):
            raise NotTraceable(f"it uses self.{name}, which is a {type(found).__name__}")
        return found


def _check(function: Any, depth: int) -> None:
    """Raise unless all that a function does is to compute."""
    if not isinstance(function, types.FunctionType):
        raise NotTraceable(f"it is a {type(function).__name__}, whose code cannot be read")
    if depth > _DEPTH:
        raise NotTraceable("it calls functions that call functions, too deep to follow")
    code = function.__code__
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise NotTraceable("it yields")
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    line = code.co_firstlineno
    for instruction in dis.get_instructions(code):
        if instruction.positions is not None and instruction.positions.lineno is not None:
            line = instruction.positions.lineno
        name = instruction.opname
        try:
            if name not in _HARMLESS:
                if name.endswith(("_NONE", "_NOT_NONE")):
                    raise NotTraceable("it asks whether something is None")
                raise NotTraceable("it " + _REASONS.get(name, f"uses the instruction {name}"))
            if name == "LOAD_GLOBAL":
                _check_global(function, str(instruction.argval), depth)
            elif name == "LOAD_DEREF" and instruction.argval in cells:
                _check_value(str(instruction.argval), cells[instruction.argval].cell_contents, depth)
        except NotTraceable as reason:
            raise (reason if " in line " in str(reason) else NotTraceable(f"{reason} in line {line}")) from None
        except ValueError:
            raise NotTraceable(f"it uses {instruction.argval!r} before it has a value") from None


def _check_global(function: types.FunctionType, name: str, depth: int) -> None:
    if name in function.__globals__:
        if _is_rebound(function.__globals__, name):
            raise NotTraceable(f"it uses {name}, which a function changes")
        _check_value(name, function.__globals__[name], depth)
    elif getattr(builtins, name, None) not in _BUILTINS:
        raise NotTraceable(f"it calls {name}")


def _check_value(name: str, value: Any, depth: int) -> None:
    """Raise unless a value from around a function will always be what it is now."""
    if isinstance(value, types.FunctionType):
        _check(value, depth + 1)
    elif not _is_fixed(value) and not any(value is known for known in (*_BUILTINS, math)):
        raise NotTraceable(f"it uses {name}, which is a {type(value).__name__}")


def _is_fixed(value: Any) -> bool:
    return type(value) in _SCALARS or (type(value) is tuple and all(map(_is_fixed, value)))


def _is_rebound(namespace: dict[str, Any], name: str) -> bool:
    """Return whether a function of a module, or of one of its classes, gives one of its variables another value."""
    functions = [value for value in namespace.values() if isinstance(value, types.FunctionType)]
    for kind in (value for value in namespace.values() if isinstance(value, type)):
        functions += [value for value in vars(kind).values() if isinstance(value, types.FunctionType)]
    return any(
        instruction.opname in ("STORE_GLOBAL", "DELETE_GLOBAL") and instruction.argval == name
        for function in functions
        if name in function.__code__.co_names and function.__globals__ is namespace
        for instruction in dis.get_instructions(function.__code__)
    )

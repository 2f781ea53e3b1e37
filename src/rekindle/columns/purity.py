"""Which functions may be called with stand-ins: those of which it can be seen that a call leaves no trace.

A function is read first: each of its instructions must be one that only computes. It may use its arguments, numbers and
strings from around it, ``min``, ``max``, ``abs``, the constants of ``math``, and functions that keep the same rules.
Then a copy of it is made that has these around it and nothing else, and only the copy is ever called.
"""

from __future__ import annotations

import builtins
import copyreg
import dis
import gc
import inspect
import math
import types
from collections.abc import Callable
from operator import attrgetter, itemgetter
from typing import Any

from rekindle.columns.module_values import holds_code, holds_value, imported_anew
from rekindle.columns.not_traceable import NotTraceable
from rekindle.contracts.functions import CheckpointedFunction, CheckpointListener, Function, ListCheckpointed

_SCALARS = (int, float, str, bool, bytes, type(None))
_BUILTINS = (min, max, abs)
_DEPTH = 4
_PICKLING = ("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__getnewargs__", "__getnewargs_ex__")

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


def traceable(function: Any, method: str) -> Callable[..., Any]:
    """Return a method of a user function so that it can be called with stand-ins.

    Args:
        function: An instance of a function class.
        method: The method that is called for records.

    Raises:
        NotTraceable: It may not be called for nothing.
    """
    for name in ("open", "close"):
        if isinstance(function, Function) and getattr(type(function), name) is not getattr(Function, name):
            raise NotTraceable(f"it has {name}()")
    if isinstance(function, CheckpointedFunction | ListCheckpointed | CheckpointListener):
        raise NotTraceable("it takes part in checkpoints")
    return traceable_callable(inspect.getattr_static(function, method, None), function)


def traceable_callable(call: Any, instance: Any = None) -> Callable[..., Any]:
    """Return a callable so that it can be called with stand-ins.

    Args:
        call: The callable; or what stands for a method in an instance or its class.
        instance: The instance, if there is one.

    Raises:
        NotTraceable: It may not be called for nothing.
    """
    if isinstance(call, itemgetter | attrgetter):
        return call
    if isinstance(call, types.MethodType):
        return types.MethodType(_copied(call.__func__, 0), _Self.of(call.__self__))
    if isinstance(call, staticmethod):
        call = call.__func__
    elif instance is not None and not _is_own(instance, call):
        return types.MethodType(_copied(call, 0), _Self.of(instance))
    return _copied(call, 0)


def _is_own(instance: object, value: Any) -> bool:
    """Return whether a value stands in an instance, not in its class: such a function is not bound to it."""
    return any(each is value for each in getattr(instance, "__dict__", {}).values())


class _Self:
    """Stand for the instance whose method is traced: gives its numbers and strings, and methods to call."""

    __slots__ = ("_instance",)

    def __init__(self, instance: object) -> None:
        self._instance = instance

    @staticmethod
    def of(instance: object) -> _Self:
        """Make one.

        Raises:
            NotTraceable: What an attribute of it is elsewhere, once it is pickled, cannot be seen.
        """
        kind = type(instance)
        if isinstance(instance, type):
            raise NotTraceable("it is a method of a class")
        if kind.__getattribute__ is not object.__getattribute__:
            raise NotTraceable(f"it belongs to a {kind.__name__}, which finds its attributes in its own way")
        if kind in copyreg.dispatch_table or any(
            getattr(kind, name, None) is not getattr(object, name, None) for name in _PICKLING
        ):
            raise NotTraceable(f"it belongs to a {kind.__name__}, which is pickled in its own way")
        return _Self(instance)

    def __getattr__(self, name: str) -> Any:
        instance = self._instance
        try:
            found = inspect.getattr_static(instance, name)
        except AttributeError:
            raise NotTraceable(f"it asks for self.{name}, which is not there yet") from None
        own = _is_own(instance, found)
        if isinstance(found, staticmethod):
            return _copied(found.__func__, 1)
        if isinstance(found, types.FunctionType):
            return _copied(found, 1) if own else types.MethodType(_copied(found, 1), self)
        if not _is_fixed(found):
            raise NotTraceable(f"it uses self.{name}, which is a {type(found).__name__}")
        if not own:
            _check_class_variable(type(instance), name, found)
        return found


def _check_class_variable(kind: type, name: str, value: Any) -> None:
    owner = next(each for each in kind.__mro__ if name in vars(each))
    if imported_anew(owner) is not None and not holds_value(owner, name, value):
        raise NotTraceable(f"it uses self.{name}, which may be another value where {owner.__name__} is imported anew")


class _Math:
    """Stand for the module ``math``, of which only the constants take no values."""

    __slots__ = ()

    def __getattr__(self, name: str) -> float:
        found = getattr(math, name, None)
        if type(found) is not float:
            raise NotTraceable(f"it calls math.{name}")
        return found


def _copied(function: Any, depth: int) -> types.FunctionType:
    """Return a copy of a function that reaches nothing but what it may use.

    Raises:
        NotTraceable: It does something else than to compute.
    """
    if not isinstance(function, types.FunctionType):
        raise NotTraceable(f"it is a {type(function).__name__}, whose code cannot be read")
    if depth > _DEPTH:
        raise NotTraceable("it calls functions that call functions, too deep to follow")
    code = function.__code__
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise NotTraceable("it yields")
    module = imported_anew(function)
    if module is not None and not holds_code(module, code):
        raise NotTraceable(f"it is not what the source of {module.__name__} says", code.co_firstlineno)
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    around: dict[str, Any] = {"__builtins__": {}}
    inside: dict[str, Any] = {}
    line = code.co_firstlineno
    for instruction in dis.get_instructions(code):
        if instruction.positions is not None and instruction.positions.lineno is not None:
            line = instruction.positions.lineno
        try:
            _check_instruction(instruction)
            name = str(instruction.argval)
            if instruction.opname == "LOAD_GLOBAL":
                around[name] = _of_module(function, name, module, depth)
            elif instruction.opname == "LOAD_DEREF":
                inside[name] = _of_closure(cells[name], name, depth)
        except NotTraceable as reason:
            raise reason.at(line) from None
        except (ValueError, KeyError):
            raise NotTraceable(f"it uses {instruction.argval!r} before it has a value", line) from None
    given = [_allowed("a default", value, depth) for value in function.__defaults__ or ()]
    closure = tuple(types.CellType(inside.get(name)) for name in code.co_freevars)
    copy = types.FunctionType(code, around, function.__name__, tuple(given), closure)
    named = function.__kwdefaults__ or {}
    copy.__kwdefaults__ = {name: _allowed("a default", value, depth) for name, value in named.items()}
    return copy


def _check_instruction(instruction: dis.Instruction) -> None:
    name = instruction.opname
    if name not in _HARMLESS:
        if name.endswith(("_NONE", "_NOT_NONE")):
            raise NotTraceable("it asks whether something is None")
        raise NotTraceable("it " + _REASONS.get(name, f"uses the instruction {name}"))
    if name in ("LOAD_ATTR", "LOAD_METHOD") and str(instruction.argval).startswith("__"):
        raise NotTraceable(f"it asks for {instruction.argval}")


def _of_module(function: types.FunctionType, name: str, module: types.ModuleType | None, depth: int) -> Any:
    """Return what a function finds under a global name."""
    if name not in function.__globals__:
        known = getattr(builtins, name, None)
        if known not in _BUILTINS:
            raise NotTraceable(f"it calls {name}")
        return known
    if _is_rebound(function.__globals__, name):
        raise NotTraceable(f"it uses {name}, which a function changes")
    value = function.__globals__[name]
    allowed = _allowed(name, value, depth)
    if module is not None and _is_fixed(value) and not holds_value(module, name, value):
        raise NotTraceable(f"it uses {name}, which may be another value where {module.__name__} is imported anew")
    return allowed


def _of_closure(cell: types.CellType, name: str, depth: int) -> Any:
    value = _allowed(name, cell.cell_contents, depth)
    if any(_stores(function.__code__, name, "STORE_DEREF", "DELETE_DEREF") for function in _closing_over(cell)):
        raise NotTraceable(f"it uses {name}, which a function changes")
    return value


def _closing_over(cell: types.CellType) -> list[types.FunctionType]:
    """Return the functions that share a variable of a closure."""
    closures = [each for each in gc.get_referrers(cell) if type(each) is tuple]
    return [each for closure in closures for each in gc.get_referrers(closure) if isinstance(each, types.FunctionType)]


def _allowed(name: str, value: Any, depth: int) -> Any:
    """Return a value from around a function, if it will always be what it is now."""
    if isinstance(value, types.FunctionType):
        return _copied(value, depth + 1)
    if value is math:
        return _Math()
    if _is_fixed(value) or any(value is known for known in _BUILTINS):
        return value
    raise NotTraceable(f"it uses {name}, which is a {type(value).__name__}")


def _is_fixed(value: Any) -> bool:
    return type(value) in _SCALARS or (type(value) is tuple and all(map(_is_fixed, value)))


def _is_rebound(namespace: dict[str, Any], name: str) -> bool:
    """Return whether a function of a module, or of one of its classes, gives one of its variables another value."""
    found = list(namespace.values())
    for kind in (value for value in namespace.values() if isinstance(value, type)):
        for member in vars(kind).values():
            found += [member, getattr(member, "__func__", None), getattr(member, "fget", None)]
    functions = [each for each in found if isinstance(each, types.FunctionType) and each.__globals__ is namespace]
    return any(_stores(function.__code__, name, "STORE_GLOBAL", "DELETE_GLOBAL") for function in functions)


def _stores(code: types.CodeType, name: str, *instructions: str) -> bool:
    """Return whether code, or a function that it makes, gives a variable another value."""
    if name in (*code.co_names, *code.co_cellvars, *code.co_freevars) and any(
        instruction.opname in instructions and instruction.argval == name for instruction in dis.get_instructions(code)
    ):
        return True
    return any(isinstance(part, types.CodeType) and _stores(part, name, *instructions) for part in code.co_consts)

"""Which functions may be traced: those that are made of nothing but what is known to leave no trace, and to stay.

A function is read, never called. Each of its instructions must be one that only computes. What it uses from around
it must be on the list: numbers and strings, ``min``, ``max``, ``abs``, the constants of ``math``, and functions that
keep the same rules. And each of these names must keep its value for the whole job, in every process: nothing in the
text of the program may give it another one (:mod:`rekindle.columns.program_text`), and where a module is imported
anew, its source must say what the value is (:mod:`rekindle.columns.module_values`). Everything else is refused, with
the reason.
"""

from __future__ import annotations

import copyreg
import dis
import inspect
import math
import types
from abc import ABCMeta
from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import Any, Generic, TypeAlias

from rekindle.columns.module_values import holds_function, holds_value, imported_anew, may_bind
from rekindle.columns.not_traceable import NotTraceable
from rekindle.columns.program_text import ModuleText, check_function_unchanged, check_unchanged, text_around, texts_of
from rekindle.contracts.functions import CheckpointedFunction, CheckpointListener, Function, ListCheckpointed

SCALARS = (int, float, str, bool, bytes, type(None))
_BUILTINS = (min, max, abs)
_CONSTANTS = {"pi": math.pi, "e": math.e, "tau": math.tau, "inf": math.inf, "nan": math.nan}
_DEPTH = 4
_PICKLING = ("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__getnewargs__", "__getnewargs_ex__")
_ATTRIBUTES = ("__getattribute__", "__getattr__", "__setattr__", "__delattr__", "__new__", "__init_subclass__")
_OF_GENERIC = {name: vars(Generic)[name] for name in (*_PICKLING, *_ATTRIBUTES) if name in vars(Generic)}

# fmt: off
_HARMLESS = frozenset({
    "RESUME", "CACHE", "NOP", "EXTENDED_ARG", "POP_TOP", "COPY", "SWAP", "PUSH_NULL", "PRECALL", "NOT_TAKEN",
    "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_BORROW_LOAD_FAST_BORROW",
    "STORE_FAST", "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST", "LOAD_CONST", "LOAD_SMALL_INT", "RETURN_VALUE",
    "RETURN_CONST", "BINARY_OP", "BINARY_SUBSCR",
    "UNARY_NEGATIVE", "UNARY_NOT", "TO_BOOL", "COMPARE_OP", "BUILD_TUPLE", "UNPACK_SEQUENCE", "LOAD_ATTR",
    "LOAD_METHOD", "LOAD_GLOBAL", "LOAD_DEREF", "COPY_FREE_VARS", "CALL", "POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE",
    "POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_FORWARD_IF_FALSE", "JUMP_FORWARD", "JUMP_IF_TRUE_OR_POP",
    "JUMP_IF_FALSE_OR_POP",
})
# fmt: on
_WHAT = (
    ("GET_ITER FOR_ITER GET_AITER JUMP_BACKWARD", "loops"),
    ("IS_OP", "asks whether something is the same object"),
    ("CONTAINS_OP", "asks whether something is in something"),
    ("STORE_ATTR DELETE_ATTR STORE_SUBSCR DELETE_SUBSCR STORE_SLICE", "changes an object"),
    ("STORE_GLOBAL DELETE_GLOBAL STORE_DEREF STORE_NAME MAKE_CELL", "has variables that others see"),
    ("FORMAT_VALUE FORMAT_SIMPLE FORMAT_WITH_SPEC BUILD_STRING CONVERT_VALUE BUILD_INTERPOLATION", "makes text"),
    ("BUILD_LIST BUILD_MAP BUILD_SET LIST_APPEND LIST_EXTEND BUILD_CONST_KEY_MAP", "makes a list, set or dict"),
    ("RAISE_VARARGS RERAISE PUSH_EXC_INFO LOAD_ASSERTION_ERROR LOAD_COMMON_CONSTANT", "handles or raises exceptions"),
    ("YIELD_VALUE RETURN_GENERATOR SEND", "yields"),
    ("IMPORT_NAME IMPORT_FROM", "imports"),
    ("MAKE_FUNCTION", "makes a function"),
    ("KW_NAMES CALL_KW CALL_FUNCTION_EX", "calls something with named arguments"),
    ("BUILD_SLICE BINARY_SLICE", "takes a slice"),
)
_REASONS = {name: reason for names, reason in _WHAT for name in names.split()}
_REASONS_OF_CONSTANTS = {types.CodeType: _REASONS["MAKE_FUNCTION"], slice: _REASONS["BUILD_SLICE"]}


@dataclass(frozen=True, slots=True, eq=False)
class MathModule:
    """Stand for the module ``math``, of which only the constants take no values.

    Attributes:
        texts: The modules that use it.
    """

    texts: tuple[ModuleText, ...]

    def attribute(self, name: str) -> float:
        """Return a constant.

        Raises:
            NotTraceable: It is no constant, or may not be what it was.
        """
        if name not in _CONSTANTS or getattr(math, name, None) is not _CONSTANTS[name]:
            raise NotTraceable(f"it calls math.{name}")
        check_unchanged(name, f"math.{name}", self.texts)
        return _CONSTANTS[name]


@dataclass(frozen=True, slots=True, eq=False)
class ReadFunction:
    """A function that was read: nothing in it leaves a trace.

    Attributes:
        code: Its code.
        instructions: What it does, one after the other.
        around: The values of the global names and of the variables of outer functions that it uses.
        defaults: The values of its last arguments, if they are not given.
    """

    code: types.CodeType
    instructions: tuple[dis.Instruction, ...]
    around: dict[str, Any]
    defaults: tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """Stand for the instance whose method is traced: gives its numbers and strings, and methods to call.

    Attributes:
        instance: The instance.
        texts: The modules that define its class, and the method.
    """

    instance: Any
    texts: tuple[ModuleText, ...]

    @staticmethod
    def of(instance: object, method: Any) -> Instance:
        """Make one.

        Raises:
            NotTraceable: What an attribute of it is elsewhere, once it is pickled, cannot be seen.
        """
        kind = type(instance)
        if isinstance(instance, type):
            raise NotTraceable("it is a method of a class")
        if type(kind) not in (type, ABCMeta):
            raise NotTraceable(f"it belongs to a {kind.__name__}, whose class is of a kind of its own")
        for name in _ATTRIBUTES:
            if not _is_that_of_object(kind, name):
                raise NotTraceable(f"it belongs to a {kind.__name__}, which has {name}")
        if kind in copyreg.dispatch_table or not all(_is_that_of_object(kind, name) for name in _PICKLING):
            raise NotTraceable(f"it belongs to a {kind.__name__}, which is pickled in its own way")
        own = [text_around(method)] if isinstance(method, types.FunctionType) else []
        texts = (*own, *texts_of(kind))
        for each in kind.__mro__:
            if each.__module__ in [text.name for text in texts] and imported_anew(each) is not None:
                check_unchanged(each.__name__, each.__name__, texts)
        return Instance(instance, texts)

    def attribute(self, name: str) -> Any:
        """Return what ``self.name`` is.

        Raises:
            NotTraceable: It may not be used, or not stay what it is.
        """
        shown = f"self.{name}"
        try:
            found = inspect.getattr_static(self.instance, name)
        except AttributeError:
            raise NotTraceable(f"it asks for {shown}, which is not there yet") from None
        is_own = name in _held(self.instance)
        if not is_fixed(found) and not isinstance(found, types.FunctionType | staticmethod):
            raise NotTraceable(f"it uses {shown}, which is a {type(found).__name__}")
        check_unchanged(name, shown, self.texts)
        own = [text.name for text in self.texts]
        for kind in type(self.instance).__mro__:
            if not is_own and name in vars(kind):
                break
            missing = name not in vars(kind) and kind.__module__ in own and imported_anew(kind) is not None
            if missing and may_bind(kind, name):
                raise NotTraceable(
                    f"it uses {shown}, which may be another value where {kind.__name__} is imported anew"
                )
        if not is_own:
            owner = next(each for each in type(self.instance).__mro__ if name in vars(each))
            value = found.__func__ if isinstance(found, staticmethod) else found
            if imported_anew(owner) is not None and not holds_value(owner, name, value):
                raise NotTraceable(
                    f"it uses {shown}, which may be another value where {owner.__name__} is imported anew"
                )
        if isinstance(found, staticmethod):
            return _read(found.__func__, 0)
        if isinstance(found, types.FunctionType):
            return _read(found, 0) if is_own else BoundMethod(_read(found, 0), self)
        return found


def _held(instance: Any) -> Mapping[str, Any]:
    """Return the attributes that an instance holds itself, without running anything of it.

    Raises:
        NotTraceable: Its class says itself what they are.
    """
    for kind in type(instance).__mro__:
        found = vars(kind).get("__dict__")
        if type(found) is types.GetSetDescriptorType:
            return found.__get__(instance)  # type: ignore[no-any-return]
        if found is not None:
            raise NotTraceable(f"it belongs to a {type(instance).__name__}, which has __dict__")
    return {}


def _is_that_of_object(kind: type, name: str) -> bool:
    """Return whether a class leaves something as ``object`` has it, or as ``Generic`` has: that changes no instance."""
    found = inspect.getattr_static(kind, name, None)
    return found is inspect.getattr_static(object, name, None) or found is _OF_GENERIC.get(name)


@dataclass(frozen=True, slots=True, eq=False)
class BoundMethod:
    """A method that was read, and its instance."""

    function: ReadFunction
    instance: Instance


@dataclass(frozen=True, slots=True, eq=False)
class Getter:
    """What ``itemgetter`` and ``attrgetter`` make: takes fields of a record.

    Attributes:
        names: The fields.
        items: Whether they are taken as items, not as attributes.
    """

    names: tuple[Any, ...]
    items: bool


Callee: TypeAlias = ReadFunction | BoundMethod | Getter
"""What can be traced."""


def traceable(function: Any, method: str) -> Callee:
    """Read a method of a user function.

    Args:
        function: An instance of a function class.
        method: The method that is called for records.

    Raises:
        NotTraceable: It may not be traced.
    """
    for name in ("open", "close"):
        if isinstance(function, Function) and inspect.getattr_static(function, name) is not vars(Function)[name]:
            raise NotTraceable(f"it has {name}()")
    if isinstance(function, CheckpointedFunction | ListCheckpointed | CheckpointListener):
        raise NotTraceable("it takes part in checkpoints")
    found = inspect.getattr_static(function, method, None)
    is_own = found is not inspect.getattr_static(type(function), method, None)
    if is_own and not list(texts_of(type(function))):
        return traceable_callable(found)  # a callable, held by a class of Rekindle's
    return Instance.of(function, found).attribute(method)  # type: ignore[no-any-return]


def traceable_callable(call: Any) -> Callee:
    """Read a callable.

    Args:
        call: The callable: a function, a bound method, or what ``itemgetter`` and ``attrgetter`` make.

    Raises:
        NotTraceable: It may not be traced.
    """
    if type(call) in (itemgetter, attrgetter):
        return Getter(call.__reduce__()[1], type(call) is itemgetter)
    if isinstance(call, types.MethodType):
        function = call.__func__
        _check_function(function)
        instance = Instance.of(call.__self__, function)
        check_unchanged(function.__name__, f"self.{function.__name__}", instance.texts)
        return BoundMethod(_read(function, 0), instance)
    return _read(call, 0)


def is_fixed(value: Any) -> bool:
    """Return whether a value cannot change: a number, a string, None, or a tuple of these."""
    return type(value) in SCALARS or (type(value) is tuple and all(map(is_fixed, value)))


def _read(function: Any, depth: int) -> ReadFunction:
    """Read a function.

    Raises:
        NotTraceable: It does something else than to compute.
    """
    _check_function(function)
    if depth > _DEPTH:
        raise NotTraceable("it calls functions that call functions, too deep to follow")
    code = function.__code__
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise NotTraceable("it yields")
    if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS) or code.co_kwonlyargcount:
        raise NotTraceable("it takes any number of arguments, or named ones")
    module = imported_anew(function)
    if module is not None and not holds_function(module, function):
        raise NotTraceable(f"it is not what the source of {module.__name__} says", code.co_firstlineno)
    if module is not None:
        for part in function.__qualname__.split("."):
            check_unchanged(part, part, [text_around(function)])
    else:
        check_function_unchanged(function)
    around: dict[str, Any] = {}
    instructions = tuple(dis.get_instructions(code))
    line = code.co_firstlineno
    for instruction in instructions:
        line = line_of(instruction) or line
        try:
            _check_instruction(instruction)
            name = str(instruction.argval)
            if instruction.opname == "LOAD_GLOBAL":
                around[name] = _of_module(function, name, module, depth)
            elif instruction.opname == "LOAD_DEREF":
                around[name] = _of_closure(function, name, depth)
        except NotTraceable as reason:
            raise reason.at(line) from None
    for value in function.__defaults__ or ():
        if not is_fixed(value):
            raise NotTraceable(f"it uses a default, which is a {type(value).__name__}")
    return ReadFunction(code, instructions, around, function.__defaults__ or ())


def _check_function(function: Any) -> None:
    if type(function) is not types.FunctionType:  # its class, not what it says that it is: as wrapt's wrappers do
        raise NotTraceable(f"it is a {type(function).__name__}, whose code cannot be read")


def line_of(instruction: dis.Instruction) -> int | None:
    """Return the line that an instruction comes from."""
    return None if instruction.positions is None else instruction.positions.lineno


def _check_instruction(instruction: dis.Instruction) -> None:
    name = instruction.opname
    if name not in _HARMLESS:
        if name.endswith(("_NONE", "_NOT_NONE")):
            raise NotTraceable("it asks whether something is None")
        raise NotTraceable("it " + _REASONS.get(name, f"uses the instruction {name}"))
    if name in ("LOAD_ATTR", "LOAD_METHOD") and str(instruction.argval).startswith("__"):
        raise NotTraceable(f"it asks for {instruction.argval}")
    if name in ("LOAD_CONST", "RETURN_CONST") and not is_fixed(instruction.argval):
        kind = type(instruction.argval)
        raise NotTraceable("it " + _REASONS_OF_CONSTANTS.get(kind, f"uses a {kind.__name__}"))


def _of_module(function: types.FunctionType, name: str, module: types.ModuleType | None, depth: int) -> Any:
    """Return what a function finds under a global name."""
    if name not in function.__globals__:
        plain: Any = function  # mypy's cache forgets that functions have builtins
        known = plain.__builtins__.get(name)
        if not any(known is each for each in _BUILTINS):
            raise NotTraceable(f"it calls {name}")
        check_unchanged(name, name, [text_around(function)])
        if module is not None and may_bind(module, name):
            raise NotTraceable(f"it calls {name}, which may be another where {module.__name__} is imported anew")
        return known
    value = function.__globals__[name]
    allowed = _allowed(function, name, value, depth)
    check_unchanged(name, name, [text_around(function)])
    if module is not None and not holds_value(module, name, value):
        raise NotTraceable(f"it uses {name}, which may be another value where {module.__name__} is imported anew")
    return allowed


def _of_closure(function: types.FunctionType, name: str, depth: int) -> Any:
    """Return what a function finds in a variable of an outer function."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    try:
        value = cells[name].cell_contents
    except ValueError:
        raise NotTraceable(f"it uses {name!r} before it has a value") from None
    allowed = _allowed(function, name, value, depth)
    check_unchanged(name, name, [text_around(function)], local=True)
    return allowed


def _allowed(function: types.FunctionType, name: str, value: Any, depth: int) -> Any:
    """Return a value from around a function, if it is on the list of what may be there."""
    if isinstance(value, types.FunctionType):
        return _read(value, depth + 1)
    if value is math:
        return MathModule((text_around(function),))
    if is_fixed(value):
        return value
    raise NotTraceable(f"it uses {name}, which is a {type(value).__name__}")

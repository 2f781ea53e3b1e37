"""What a module holds wherever it is imported, read from its source.

A function of a module is pickled by its name: where it is unpickled, the module is imported anew. What a program has
put into a module in the meantime is not there. Only what the source says is known to be.
"""

from __future__ import annotations

import ast
import math
import operator
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import cloudpickle

from rekindle.columns.not_traceable import NotTraceable
from rekindle.columns.program_text import contents, names_bound, text_of

_UNKNOWN = object()
_MOST_BITS = 4096  # of a number that is computed, and _MOST_PARTS of a text or a tuple: so that it takes no time
_MOST_PARTS = 10_000


def _power(base: Any, exponent: Any) -> Any:
    if type(base) is int and type(exponent) is int and base.bit_length() * exponent > _MOST_BITS:
        raise ValueError("a number that is too large to compute")
    return base**exponent


def _shifted(number: Any, bits: Any) -> Any:
    if bits > _MOST_BITS or number.bit_length() > _MOST_BITS:
        raise ValueError("a number that is too large to compute")
    return number << bits


def _product(one: Any, other: Any) -> Any:
    for parts, times in ((one, other), (other, one)):
        if isinstance(parts, str | bytes | tuple) and len(parts) * times > _MOST_PARTS:
            raise ValueError("a text that is too long to compute")
    return one * other


_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: _product,
    ast.Pow: _power,
    ast.LShift: _shifted,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_DECORATORS = frozenset({"staticmethod", "override", "final", "dataclass"})  # what they return is what is written


def imported_anew(owner: Any) -> types.ModuleType | None:
    """Return the module that is imported anew where a function or a class is unpickled; None: it is pickled whole."""
    module = sys.modules.get(owner.__module__)
    if module is None or "<" in owner.__qualname__:
        return None
    held = contents(module)
    if held is None:
        raise NotTraceable(f"it is of {owner.__module__}, which is a {type(module).__name__}, not a module")
    name = held.get("__name__", owner.__module__)
    if name == "__main__":
        return None
    by_value = cloudpickle.list_registry_pickle_by_value()
    if any(name == known or name.startswith(f"{known}.") for known in by_value):
        return None
    return module


def holds_function(module: types.ModuleType, function: types.FunctionType) -> bool:
    """Return whether the source of a module says that a function, under its own name, is what it is now."""
    text = text_of(module)
    if text is None:
        return False
    *classes, name = function.__qualname__.split(".")
    body = _body(text.tree.body, classes)
    found = [] if body is None else _bindings(body, name)
    if len(found) != 1 or not isinstance(found[0], ast.FunctionDef) or not _is_plain(found[0]):
        return False
    written = [code for code in text.codes if code.co_qualname == function.__qualname__]
    given = found[0].args
    return (
        written == [function.__code__]
        and _same(tuple(_computed(each, ()) for each in given.defaults), function.__defaults__ or ())
        and all(each is None for each in given.kw_defaults)
        and not function.__kwdefaults__
    )


def holds_value(owner: types.ModuleType | type, name: str, value: Any) -> bool:
    """Return whether the source says that a variable of a module, or of a class in it, is what it is now.

    Args:
        owner: The module or the class.
        name: The name of the variable.
        value: What it is now; a function is what it is if it has the name, and is of the module, that the source says.
    """
    module = owner if isinstance(owner, types.ModuleType) else sys.modules[owner.__module__]
    text = text_of(module)
    if text is None:
        return False
    body = _body(text.tree.body, owner.__qualname__.split(".") if isinstance(owner, type) else [])
    if body is None:
        return False
    bindings = _bindings(body, name)
    if len(bindings) != 1:
        return False
    match bindings[0]:
        case ast.FunctionDef():
            qualname = f"{owner.__qualname__}.{name}" if isinstance(owner, type) else name
            return isinstance(value, types.FunctionType) and (
                (value.__module__, value.__qualname__) == (module.__name__, qualname)
            )
        case ast.Import(names=names):
            return isinstance(value, types.ModuleType) and any(
                alias.name == value.__name__ and (alias.asname or alias.name) == name for alias in names
            )
        case ast.ImportFrom(module=source, level=level, names=names):
            imported = _imported(module, source, level)
            original = next((alias.name for alias in names if (alias.asname or alias.name) == name), None)
            if original is None or imported is None:
                return False
            if imported is math:
                return _same(getattr(math, original, _UNKNOWN), value)
            return holds_value(imported, original, value)
    return _same(_computed(ast.Name(name), body), value)


def may_bind(owner: types.ModuleType | type, name: str) -> bool:
    """Return whether the source of a module, or of a class in it, may give a name a value, wherever it is run."""
    module = owner if isinstance(owner, types.ModuleType) else sys.modules[owner.__module__]
    text = text_of(module)
    body = None if text is None else _body(text.tree.body, owner.__qualname__.split(".") if owner is not module else [])
    if body is None:
        return True
    declared = [each for each in body if isinstance(each, ast.AnnAssign) and each.value is None]
    private = f"_{owner.__name__.lstrip('_')}__"  # as the compiler writes it down, and the class does not
    written = f"__{name.removeprefix(private)}" if name.startswith(private) else name
    return any(each not in declared for each in _bindings(body, written))


def _imported(module: types.ModuleType, source: str | None, level: int) -> types.ModuleType | None:
    name = source or ""
    if level:
        parts = ((contents(module) or {}).get("__package__") or "").split(".")
        name = ".".join([*parts[: len(parts) - level + 1], *([source] if source else [])])
    found = sys.modules.get(name)
    return None if contents(found) is None else found


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and repr(one) == repr(other)


def _body(body: Sequence[ast.stmt], classes: Sequence[str]) -> Sequence[ast.stmt] | None:
    """Return what is in a class in a body; None: the source does not say which class that is."""
    for part in classes:
        found = _bindings(body, part)
        if len(found) != 1 or not isinstance(found[0], ast.ClassDef) or not _is_plain(found[0]):
            return None
        if found[0].keywords or any(isinstance(node, ast.Call) for base in found[0].bases for node in ast.walk(base)):
            return None
        body = found[0].body
    return body


def _is_plain(definition: ast.FunctionDef | ast.ClassDef) -> bool:
    """Return whether a definition is bound to its name as it is written."""
    for decorator in definition.decorator_list:
        named = decorator.func if isinstance(decorator, ast.Call) else decorator
        if (named.attr if isinstance(named, ast.Attribute) else getattr(named, "id", None)) not in _DECORATORS:
            return False
    return True


def _bindings(body: Sequence[ast.stmt], name: str) -> list[ast.stmt]:
    """Return the statements of a body that bind a name, each as often as it does."""
    return [statement for statement in body for bound in names_bound(statement) if bound in (name, "*")]


def _assigned(body: Sequence[ast.stmt], name: str) -> Any:
    """Return what is assigned to a name, once and as it stands in the source."""
    match _bindings(body, name):
        case [
            ast.Assign(targets=[ast.Name()], value=value) | ast.AnnAssign(target=ast.Name(), value=ast.expr() as value)
        ]:
            return _computed(value, body)
    return _UNKNOWN


def _computed(expression: ast.expr, body: Sequence[ast.stmt]) -> Any:
    try:
        match expression:
            case ast.Constant(value=value):
                return value
            case ast.Tuple(elts=elements):
                return tuple(_computed(element, body) for element in elements)
            case ast.Name(id=name):
                return _assigned(body, name)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -_computed(operand, body)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return _BINARY[type(op)](_computed(left, body), _computed(right, body))
    except (ArithmeticError, AttributeError, TypeError, ValueError, RecursionError):
        return _UNKNOWN
    return _UNKNOWN

"""What a module holds wherever it is imported, read from its source.

A function of a module is pickled by its name: where it is unpickled, the module is imported anew. What a program has
put into a module in the meantime is not there. Only what the source says is known to be.
"""

from __future__ import annotations

import ast
import operator
import sys
import types
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import cloudpickle

_UNKNOWN = object()
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def imported_anew(owner: Any) -> types.ModuleType | None:
    """Return the module that is imported anew where a function or a class is unpickled; None: it is pickled whole."""
    module = sys.modules.get(owner.__module__)
    if module is None or module.__name__ == "__main__" or "<" in owner.__qualname__:
        return None
    by_value = cloudpickle.list_registry_pickle_by_value()
    if any(module.__name__ == known or module.__name__.startswith(f"{known}.") for known in by_value):
        return None
    return module


def holds_code(module: types.ModuleType, code: types.CodeType) -> bool:
    """Return whether the source of a module has a function, as it is: nobody has put another one in its place."""
    read = _read(module)
    return read is not None and code in read[1]


def holds_value(owner: types.ModuleType | type, name: str, value: Any) -> bool:
    """Return whether the source says that a variable of a module, or of a class in it, is what it is now."""
    module = owner if isinstance(owner, types.ModuleType) else sys.modules[owner.__module__]
    read = _read(module)
    if read is None:
        return False
    body: Sequence[ast.stmt] = read[0].body
    if isinstance(owner, type):
        for part in owner.__qualname__.split("."):
            found = [each for each in body if isinstance(each, ast.ClassDef) and each.name == part]
            if len(found) != 1:
                return False
            body = found[0].body
    said = _assigned(body, name)
    return type(said) is type(value) and repr(said) == repr(value)


@lru_cache(maxsize=256)
def _read(module: types.ModuleType) -> tuple[ast.Module, frozenset[types.CodeType]] | None:
    path = getattr(module, "__file__", None)
    if path is None or not path.endswith(".py"):
        return None
    try:
        with open(path, "rb") as file:
            source = file.read()
        tree = ast.parse(source, path)
        return tree, frozenset(_codes(compile(tree, path, "exec", dont_inherit=True)))
    except (OSError, SyntaxError, ValueError):
        return None


def _codes(code: types.CodeType) -> list[types.CodeType]:
    inner = [each for part in code.co_consts if isinstance(part, types.CodeType) for each in _codes(part)]
    return [code, *inner]


def _assigned(body: Sequence[ast.stmt], name: str) -> Any:
    """Return what is assigned to a name, once and as it stands in the source."""
    stores = [
        statement
        for statement in body
        for node in ast.walk(statement)
        if (isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load))
        or (isinstance(node, ast.Global | ast.Nonlocal) and name in node.names)
        or (isinstance(node, ast.alias) and (node.asname or node.name) in (name, "*"))
    ]
    if len(stores) != 1:
        return _UNKNOWN
    match stores[0]:
        case (
            ast.Assign(targets=[ast.Name()], value=value) | ast.AnnAssign(target=ast.Name(), value=ast.expr() as value)
        ):
            try:
                return _computed(value, body)
            except (ArithmeticError, TypeError, ValueError, RecursionError):
                return _UNKNOWN
        case ast.ImportFrom(module="math", level=0, names=names):
            import math

            original = next(alias.name for alias in names if (alias.asname or alias.name) == name)
            return getattr(math, original, _UNKNOWN)
    return _UNKNOWN


def _computed(expression: ast.expr, body: Sequence[ast.stmt]) -> Any:
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
    return _UNKNOWN

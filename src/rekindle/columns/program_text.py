"""The text of a program, and what it may change while the program runs.

A name keeps its value if nothing in the text of the program can give it another one. The text is the source of all
modules of the program: that of the function, those that import it, the main program, and all that these import.
Installed packages do not count: they know nothing of a program's names. But the program may be installed itself: the
package of the function, and that of the main program, count wherever they lie.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
import sysconfig
import types
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any, TypeVar

from rekindle.columns.not_traceable import NotTraceable

_PACKAGES = ("rekindle", "pyflink", "pyspark", "py4j")  # may also come in an archive that Spark ships
_STANDARD, _INSTALLED = (
    tuple(os.path.join(os.path.realpath(path), "") for path in {sysconfig.get_path(name) for name in names})
    for names in (("stdlib", "platstdlib"), ("purelib", "platlib"))
)
_CONTENTS: Any = vars(types.ModuleType)["__dict__"]
_PACKAGES_IN = ("/site-packages/", "/dist-packages/")
_NAMESPACES = frozenset({"globals", "vars", "locals"})
_READING = frozenset({"get", "items", "keys", "values", "copy"})
_SETTERS = frozenset({"setattr", "delattr"})
_GETTERS = frozenset({"getattr", "attrgetter", "methodcaller"})
_OF_FUNCTIONS = frozenset({"__code__", "__defaults__", "__kwdefaults__"})
_WORDS = frozenset(
    {"exec", "eval", "__import__", "__builtins__", "__setattr__", "__delattr__", "__globals__", "__kwdefaults__"}
    | {"__closure__", "__getattribute__", "cell_contents", "f_globals", "f_locals", "f_builtins", "import_module"}
    | {"get_referrers", "get_referents", "get_objects", "entry_points", "EntryPoint"}
    | {"update_wrapper", "wrap_function_wrapper", "patch_function_wrapper", "wrap_object", "apply_patch"}
)
_HARMFUL = frozenset({*_SETTERS, *_GETTERS, "__dict__", "__init__", "wraps"})
_NAMED = frozenset({*_WORDS, *_SETTERS, *_OF_FUNCTIONS, "__dict__"})
_MODULES = frozenset({"importlib", "ctypes", "runpy", "mock", "unittest.mock"})
_HARMLESS_MODULES = frozenset({"importlib.metadata", "importlib.resources"})
_PARSERS = frozenset({"parse_args", "parse_known_args", "parse_intermixed_args", "parse_known_intermixed_args"})
_REACHING_CELLS = frozenset(
    {"exec", "eval", "__closure__", "cell_contents", "get_referrers", "get_referents", "get_objects", "ctypes"}
)
_REACHING_FUNCTIONS = _REACHING_CELLS | _OF_FUNCTIONS | _SETTERS | {"__setattr__", "__delattr__"}
_Found = TypeVar("_Found")
_SEEN: ContextVar[dict[Hashable, Any] | None] = ContextVar("what was found while nothing of the program runs")


@dataclass(frozen=True, slots=True, eq=False)
class ModuleText:
    """The source of a module, and what it may change.

    Attributes:
        name: The name of the module.
        tree: Its source.
        codes: The code of each of its functions.
        imports: The modules that it imports, wherever it does so.
        rebound: Variables that a function may give another value, and the line where it says so.
        stored: Attributes that are given a value other than in ``__init__``, and the line.
        reflection: What in it may change things by names that are not in the text, and the lines.
    """

    name: str
    tree: ast.Module
    codes: frozenset[types.CodeType]
    imports: frozenset[str]
    rebound: dict[str, int]
    stored: dict[str, int]
    reflection: dict[str, int]


@contextmanager
def standing_still() -> Iterator[None]:
    """Say that nothing of the program runs in the meantime: what is found out about its modules holds until the end."""
    token = _SEEN.set({})
    try:
        yield
    finally:
        _SEEN.reset(token)


def _once(key: Hashable, find: Callable[[], _Found]) -> _Found:
    """Find something out, unless that has been done and the program has not run since."""
    seen = _SEEN.get(None)
    if seen is None:
        return find()
    if key not in seen:
        seen[key] = find()
    return seen[key]  # type: ignore[no-any-return]


def text_around(function: types.FunctionType) -> ModuleText:
    """Return the text of the module that a function is defined in.

    Raises:
        NotTraceable: It cannot be read, or says something else than the function does.
    """
    namespace = function.__globals__
    text = _text(namespace.get("__name__"), namespace.get("__file__"))
    if text is None:
        raise NotTraceable("it uses names of a module whose source cannot be read")
    if function.__code__ not in text.codes:
        raise NotTraceable(f"it is not what the source of {text.name} says", function.__code__.co_firstlineno)
    return text


def text_of(module: types.ModuleType) -> ModuleText | None:
    """Return the text of a module; None: it cannot be read."""
    held = contents(module) or {}
    return _text(held.get("__name__"), held.get("__file__"))


def contents(module: Any) -> dict[str, Any] | None:
    """Return what a module holds, without running anything of it; None: it is no module.

    What stands in ``sys.modules`` may be an object of the program, or a module that is loaded when it is first asked.
    """
    if not issubclass(type(module), types.ModuleType):
        return None
    return _CONTENTS.__get__(module)  # type: ignore[no-any-return]


def texts_of(kind: type) -> Iterator[ModuleText]:
    """Return the text of the modules that a class and its bases are defined in, but for those of Rekindle and Python.

    Raises:
        NotTraceable: One of them cannot be read.
    """
    for each in kind.__mro__:
        module = sys.modules.get(each.__module__)
        held = contents(module) or {}
        path = held.get("__file__")
        if held.get(each.__qualname__) is each and _is_standard(each.__module__, path or "built-in"):
            continue
        text = None if module is None else text_of(module)
        if text is None:
            raise NotTraceable(f"it belongs to a {each.__name__}, whose source cannot be read")
        yield text


def check_function_unchanged(function: types.FunctionType) -> None:
    """Check that nothing in a program changes what a function does, as far as its text can be read.

    This is for functions that are pickled whole. Where one lies that is pickled by its name, its source is read.

    Raises:
        NotTraceable: Something may.
    """
    namespace = function.__globals__
    text = _text(namespace.get("__name__"), namespace.get("__file__"))
    own = () if text is None else (text,)
    for each in _once((own, True), lambda: _program(own, readable=True)):
        for what, line in each.reflection.items():
            if what in _REACHING_FUNCTIONS:
                raise NotTraceable(f"it may change, because the program uses {what} (line {line} of {each.name})")


def check_unchanged(name: str, shown: str, own: Iterable[ModuleText], local: bool = False) -> None:
    """Check that nothing in a program gives a variable or an attribute another value.

    Args:
        name: Its name.
        shown: How the function writes it.
        own: The modules that it belongs to.
        local: Whether it is a variable of an outer function, which is an attribute of nothing.

    Raises:
        NotTraceable: Something may.
    """
    own = tuple(own)
    for text in own:
        if name in text.rebound:
            raise _changed(shown, text, "which a function changes", text.rebound[name])
    for text in _once((own, False), lambda: _program(own)):
        if name in text.stored and not local:
            raise _changed(shown, text, "which something changes", text.stored[name])
        for what, line in text.reflection.items():
            if not local or what in _REACHING_CELLS:
                raise _changed(shown, text, f"which may change, because the program uses {what}", line)


def _changed(shown: str, text: ModuleText, what: str, line: int) -> NotTraceable:
    return NotTraceable(f"it uses {shown}, {what} (line {line} of {text.name})")


def _program(own: tuple[ModuleText, ...], readable: bool = False) -> list[ModuleText]:
    """Return the text of all modules that may change what belongs to some of them.

    Args:
        own: The modules.
        readable: Whether to leave out those whose source cannot be read.

    Raises:
        NotTraceable: The source of one cannot be read.
    """
    held = contents(sys.modules.get("__main__")) or {}
    main = held.get("__file__")
    found = {text.name: text for text in own}
    paths = [held.get("__file__") for held in (contents(sys.modules.get(name)) or {} for name in found)]
    tops = frozenset(_top(path) for path in (*paths, main) if isinstance(path, str)) - {None}
    loaded = {name: path for name, path in _once(_loaded, _loaded) if _is_program(name, path, tops)}

    def add(name: str, path: str) -> None:
        text = _text(name, path)
        if text is None and not readable:
            raise NotTraceable(f"it uses names that {name} may change, whose source cannot be read")
        if text is not None:
            found[name] = text

    if not isinstance(main, str):
        if not readable:
            raise NotTraceable("it uses names that the main program may change, whose source cannot be read")
    elif "__main__" not in found and not _is_installed("__main__", main):
        add("__main__", main)
    importing = True
    while importing:
        importing = False
        for name, path in loaded.items():
            if name not in found and _mentions(name, path, found):
                text = _text(name, path)
                if text is None or not text.imports.isdisjoint(found):
                    add(name, path)
                    importing = importing or name in found
    waiting = list(found.values())
    while waiting:
        for imported in waiting.pop().imports:
            place = None if imported in found else _place(imported, tops)
            if place is not None:
                add(imported, place)
                waiting.extend(found[name] for name in (imported,) if name in found)
    return list(found.values())


def _loaded() -> list[tuple[str, str]]:
    modules = [name for name, module in list(sys.modules.items()) if module is not None]
    found = [(name, _path(name)) for name in modules if name.partition(".")[0] not in _PACKAGES]
    return [(name, path) for name, path in found if isinstance(path, str)]


def _path(name: str) -> str | None:
    """Return where a module lies, also one that is not loaded yet, or that has put something else in its place."""
    held = contents(sys.modules.get(name))
    if held is not None:
        path = held.get("__file__")
        return path if isinstance(path, str) else None
    top = name.partition(".")[0]
    spec = None if top in sys.stdlib_module_names or top in _PACKAGES else _spec(name)
    return None if spec is None or not spec.has_location else spec.origin


def _place(name: str, tops: frozenset[str | None]) -> str | None:
    """Return where a module lies; None: it is not the program's, or not a module."""
    path = _path(name)
    return path if path is not None and _is_program(name, path, tops) else None


def _spec(name: str) -> ModuleSpec | None:
    """Find a module without importing the packages that it is in."""
    above = name.rpartition(".")[0]
    try:
        if not above:
            return PathFinder.find_spec(name) if name in sys.modules else importlib.util.find_spec(name)
        known = (contents(sys.modules.get(above)) or {}).get("__spec__")
        package = known if type(known) is ModuleSpec else _spec(above)
        places = None if package is None else package.submodule_search_locations
        return None if places is None else PathFinder.find_spec(name, places)
    except (ImportError, ValueError):
        return None


def _is_program(name: str, path: str, tops: frozenset[str | None]) -> bool:
    """Return whether a module may be the program's: it is not installed, or in an installed package that is."""
    return not _is_installed(name, path) or (not _is_standard(name, path) and _top(path) in tops)


@cache
def _top(path: str) -> str | None:
    """Return the directory or file, where packages are installed, that a module is in; None: it is not installed."""
    path = os.path.realpath(path)
    for place in _INSTALLED:
        if path.startswith(place):
            return place + path[len(place) :].partition("/")[0]
    for part in _PACKAGES_IN:
        before, found, after = path.rpartition(part)
        if found:
            return before + part + after.partition("/")[0]
    return None


@cache
def _is_standard(name: str, path: str) -> bool:
    """Return whether a module is Python's, Rekindle's or Spark's."""
    if name.partition(".")[0] in _PACKAGES or path in ("frozen", "built-in"):
        return True
    return os.path.realpath(path).startswith(_STANDARD) and _top(path) is None


@cache
def _is_installed(name: str, path: str) -> bool:
    return _is_standard(name, path) or _top(path) is not None


def _mentions(name: str, path: str, modules: Iterable[str]) -> bool:
    """Return whether a module may import one of some modules; one without source does if it holds something of them."""
    source = _source(path)
    if source is not None:
        return any(each.rpartition(".")[2].encode() in source[0] for each in modules)
    held = contents(sys.modules[name])
    if held is None:
        return True
    used: set[Any] = set()
    for each in list(held.values()):
        if issubclass(type(each), type):
            used.add(type.__getattribute__(each, "__module__"))
        elif type(each) is types.FunctionType:
            used.add(each.__module__)
        else:
            used.add((contents(each) or {}).get("__name__"))
    return any(name in modules for name in used if isinstance(name, str))


def _text(name: Any, path: Any) -> ModuleText | None:
    if not isinstance(name, str) or not isinstance(path, str):
        return None
    source = _source(path)
    package = name if os.path.basename(path) == "__init__.py" else name.rpartition(".")[0]
    if name == "__main__":
        package = (contents(sys.modules[name]) or {}).get("__package__") or ""
    return None if source is None else _parsed(name, package, path, source[0])


def _source(path: str) -> tuple[bytes, int] | None:
    try:
        known = os.stat(path)
        return _contents(path, known.st_mtime_ns, known.st_size), known.st_size
    except OSError:
        return None


@lru_cache(maxsize=1024)
def _contents(path: str, _modified: int, _size: int) -> bytes:
    return Path(path).read_bytes()


@lru_cache(maxsize=1024)
def _parsed(name: str, package: str, path: str, source: bytes) -> ModuleText | None:
    try:
        tree = ast.parse(source, path)
        codes = frozenset(_codes(compile(tree, path, "exec", dont_inherit=True)))
        found = _Changes(package)
        found.visit(tree)
    except (SyntaxError, ValueError, RecursionError):
        return None
    imports = frozenset(found.imports)
    return ModuleText(name, tree, codes, imports, found.rebound, found.stored, found.reflection)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield from _codes(part)


class _Changes(ast.NodeVisitor):
    """Collect what the source of a module may change."""

    def __init__(self, package: str) -> None:
        self.imports: set[str] = set()
        self.rebound: dict[str, int] = {}
        self.stored: dict[str, int] = {}
        self.reflection: dict[str, int] = {}
        self._package = package
        self._class: str | None = None
        self._made: str | None = None  # in __init__, the name of the instance that is being made
        self._class_body = False
        self._harmless: set[int] = set()  # parts that would change something if they stood elsewhere

    def _reflects(self, what: str, node: ast.AST) -> None:
        self.reflection.setdefault(what, getattr(node, "lineno", 0))

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._imported(alias.name, node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        if node.level:
            parts = self._package.split(".")
            module = ".".join([*parts[: len(parts) - node.level + 1], *([module] if module else [])])
        if module != "importlib":  # of which some modules are harmless
            self._imported(module, node)
        for alias in node.names:
            self._imported(f"{module}.{alias.name}", node)  # which may be a module, or not
            renamed = alias.asname not in (None, alias.name)
            if (
                alias.name in _NAMED | _NAMESPACES
                or (module, alias.name) == ("sys", "modules")
                or (renamed and alias.name in _HARMFUL)
            ):
                self._reflects(alias.name, node)

    def _imported(self, name: str, node: ast.AST) -> None:
        parts = name.split(".")
        if (parts[0] in _MODULES or name in _MODULES) and ".".join(parts[:2]) not in _HARMLESS_MODULES:
            self._reflects(parts[0], node)
        self.imports.update(".".join(parts[: count + 1]) for count in range(len(parts)))

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        for name in node.names:
            self.rebound.setdefault(self._mangled(name), node.lineno)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self.visit_Global(node)

    def _mangled(self, name: str) -> str:
        """Return a name as the compiler writes it down: a private one with that of its class."""
        private = self._class is not None and name.startswith("__") and not name.endswith("__")
        return f"_{(self._class or '').lstrip('_')}{name}" if private and (self._class or "").strip("_") else name

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        outside = self._class, self._made, self._class_body
        self._class, self._made, self._class_body = node.name, None, True
        self.generic_visit(node)
        self._class, self._made, self._class_body = outside

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        outside = self._made, self._class_body
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call):  # wraps(function): changes what is decorated, which is made here
                self._harmless.add(id(decorator.func))
        makes = self._class_body and node.name == "__init__" and not node.decorator_list and not _waits(node)
        first = [*node.args.posonlyargs, *node.args.args][:1]
        self._made = first[0].arg if makes and first and not _assigns(node, first[0].arg) else None
        self._class_body = False
        self.generic_visit(node)
        self._made, self._class_body = outside

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

    def visit_Lambda(self, node: ast.Lambda | ast.GeneratorExp) -> None:
        outside, self._made = self._made, None  # it runs later, when the instance is made
        self.generic_visit(node)
        self._made = outside

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        self.visit_Lambda(node)

    def visit_MatchClass(self, node: ast.MatchClass) -> None:
        for name in node.kwd_attrs:
            self._read_by_name(name, node)
        self.generic_visit(node)

    def _read_by_name(self, name: str, node: ast.AST) -> None:
        if name in _WORDS | _HARMFUL | _NAMESPACES or name == "modules":
            self._reflects(name, node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        name = node.attr
        if not isinstance(node.ctx, ast.Load):
            if not (isinstance(node.value, ast.Name) and node.value.id == self._made):
                self.stored.setdefault(self._mangled(name), node.lineno)
            if name in _WORDS or _is_special(name):
                self._reflects(name, node)
        elif name in _WORDS or (name in _HARMFUL and id(node) not in self._harmless):
            self._reflects(name, node)
        elif isinstance(node.value, ast.Name) and (
            (node.value.id, name) == ("sys", "modules") or (node.value.id == "builtins" and name in _NAMESPACES)
        ):
            self._reflects(f"{node.value.id}.{name}", node)
        if isinstance(node.value, ast.Name) and f"{node.value.id}.{name}" in _HARMLESS_MODULES:
            self._harmless.add(id(node.value))
        self.visit(node.value)

    def visit_Name(self, node: ast.Name) -> None:
        known = _WORDS | _SETTERS | _NAMESPACES | _GETTERS | {"wraps", "importlib"}
        if isinstance(node.ctx, ast.Load) and node.id in known and id(node) not in self._harmless:
            self._reflects(node.id, node)

    def visit_Constant(self, node: ast.Constant) -> None:
        for name in node.value.split(".") if isinstance(node.value, str) else ():
            if name in _NAMED or node.value == "__init__":
                self._reflects(name, node)

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", None)
        names = {"attrgetter": node.args, "methodcaller": node.args[:1]}.get(called or "", node.args[1:2])
        literal = [part.value for part in names if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        if called in _SETTERS | _GETTERS and literal and len(literal) == len(names):
            self._harmless.add(id(node.func))
            for name in literal:
                if called in _SETTERS and _is_special(name):
                    self._reflects(name, node)
                for part in name.split(".") if called in _GETTERS else ():
                    self._read_by_name(part, node)
            if called in _SETTERS:
                self.stored.setdefault(literal[0], node.lineno)
        if called in _PARSERS and (len(node.args) > 1 or any(isinstance(part, ast.Starred) for part in node.args)):
            self._reflects(called or "", node)  # it sets the attributes of what is given
        if isinstance(node.func, ast.Name) and node.func.id in _NAMESPACES and id(node) in self._harmless:
            self._harmless.add(id(node.func))
        if isinstance(node.func, ast.Attribute):
            if node.func.attr in _READING:
                self._harmless.add(id(node.func.value))
            if node.func.attr == "__init__" and self._makes(node):
                self._harmless.add(id(node.func))
        self.generic_visit(node)

    def _makes(self, call: ast.Call) -> bool:
        """Return whether a call goes to the ``__init__`` of a base class, in that of the class itself."""
        of = call.func.value if isinstance(call.func, ast.Attribute) else call.func
        if isinstance(of, ast.Call) and isinstance(of.func, ast.Name) and of.func.id == "super" and not of.args:
            return self._made is not None
        return any(isinstance(part, ast.Name) and part.id == self._made for part in call.args[:1])

    def visit_Dict(self, node: ast.Dict) -> None:
        self._harmless.update(id(value) for key, value in zip(node.keys, node.values, strict=True) if key is None)
        self.generic_visit(node)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> None:
        self._harmless.add(id(node.value))
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg is None:  # **vars(something): a copy
            self._harmless.add(id(node.value))
        if node.arg == "namespace" and not isinstance(node.value, ast.Constant):  # of parse_args: it is changed
            self._reflects("namespace=", node)
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.ctx, ast.Load):
            self._harmless.add(id(node.value))
        self.generic_visit(node)


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _waits(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a function does not run where it is called."""
    waiting = isinstance(function, ast.AsyncFunctionDef)
    return waiting or any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(function))


def _assigns(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> bool:
    return any(name in _bound(node) for node in ast.walk(function))


@lru_cache(maxsize=16_384)
def names_bound(statement: ast.AST) -> Sequence[str | None]:
    """Return the names that a statement binds where it stands, not in the functions and classes in it."""
    found: list[str | None] = []
    waiting = [statement]
    while waiting:
        node = waiting.pop()
        found.extend(_bound(node))
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))
    return tuple(found)


def _bound(node: ast.AST) -> Sequence[str | None]:
    """Return the names that a part of a program binds by itself."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return [name]
        case ast.Global(names=names):
            return names
        case ast.alias():
            return [node.asname or node.name.partition(".")[0]]
        case ast.ExceptHandler(name=name) | ast.MatchAs(name=name) | ast.MatchStar(name=name):
            return [name]
        case ast.MatchMapping(rest=name):
            return [name]
    return ()

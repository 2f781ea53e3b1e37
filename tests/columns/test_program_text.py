"""Which names keep their value for a whole job, as the text of a program says: those are used, and no others."""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pytest

from rekindle.columns import module_values, program_text
from rekindle.columns.not_traceable import NotTraceable
from rekindle.columns.program_text import standing_still
from rekindle.columns.purity import traceable, traceable_callable
from rekindle.columns.shapes import Shape
from rekindle.columns.tracing import Traced, record, trace

ROW = Shape.row(["a", "b"])
Load = Callable[..., ModuleType]

PROGRAM = """
import builtins
import functools
import math
import sys
from rekindle.datastream import AggregateFunction, MapFunction

RATE = 3
LIMITS = (1, 2.5)

def cents(x, factor=100):
    return x * factor

rated = lambda row: cents(row.a) * RATE + LIMITS[0]
least = lambda row: min(row.a, row.b, math.pi)

def surrounded():
    number = 7
    return lambda row: row.a * number

class Base(MapFunction):
    offset = 5

    def __init__(self, factor):
        self.factor = factor

    def scaled(self, x):
        return x * self.factor

class Scaled(Base):
    def __init__(self, factor, __secret=1):
        super().__init__(factor)
        self.__secret = __secret

    def map(self, row):
        return self.scaled(row.a) + self.offset

class Secret(Scaled):
    def __init__(self, secret):
        Scaled.__init__(self, 2)
        self.__secret = secret

    def map(self, row):
        return row.a * self.__secret
"""


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Load]:
    loaded: list[str] = []

    def import_anew(source: str = PROGRAM, name: str = "text_program", load: bool = True) -> Any:
        (tmp_path / f"{name}.py").write_text(source)
        importlib.invalidate_caches()
        if load:
            loaded.append(name)
            return importlib.import_module(name)
        return None

    monkeypatch.syspath_prepend(str(tmp_path))
    yield import_anew
    for name in loaded:
        sys.modules.pop(name, None)


USES: dict[str, Callable[[Any], Traced]] = {
    "RATE": lambda module: trace(traceable_callable(module.rated), record(ROW)),
    "min": lambda module: trace(traceable_callable(module.least), record(ROW)),
    "number": lambda module: trace(traceable_callable(module.surrounded()), record(ROW)),
    "self": lambda module: trace(traceable(module.Scaled(2), "map"), record(ROW)),
    "self.__secret": lambda module: trace(traceable(module.Secret(2), "map"), record(ROW)),
}

HARMLESS = {
    "nothing else": "",
    "a namespace that is read": (
        "def f(args):\n    return dict(**vars(args)), vars(args)['a'], args.__dict__.items(), vars(args).get('a'),"
        " vars(args).keys(), vars(args).values(), args.__dict__.copy(), {**vars(args)}, f'{vars(args)}'"
    ),
    "an attribute by name": "def f(x):\n    return getattr(x, 'a', None)",
    "getters by name": "import operator as o\ngetters = o.attrgetter('a', 'b.c'), o.methodcaller('m', RATE)",
    "an attribute of functions": "def f(x):\n    return getattr(x, '__name__', None), x.__code__, x.__defaults__",
    "wraps that decorates": (
        "from functools import wraps\ndef outer(f):\n    @wraps(f)\n    def g(): pass\n"
        "    @functools.wraps(f)\n    def h(): pass"
    ),
    "metadata of a package": (
        "import importlib.metadata\nfrom importlib import resources\nfrom importlib.metadata import version\n"
        "def f(): return importlib.metadata.version('x'), version('y'), resources.files('z')"
    ),
    "a namespace with a name": "def f(client):\n    client.pods(namespace='default')",
    "arguments that are parsed": "def f(parser, args):\n    return parser.parse_args(args)",
    "another attribute": "def f(x):\n    x.other = 3\n    setattr(x, 'another', 4)\n    del x.other",
    "an attribute named as a variable of a function": "def f(x):\n    x.number = 4",
    "another variable": "def f():\n    global counter\n    counter = 1",
    "another class that is made": "class C:\n    def __init__(self, factor):\n        self.factor = self.RATE = factor",
    "a value at first": "RATE = 3.5",
    "the name of a class of Rekindle's": "def f(module):\n    module.MapFunction = None",
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("more", HARMLESS)
def test_names_that_nothing_changes_are_used(load: Load, use: str, more: str) -> None:
    assert USES[use](load(f"{PROGRAM}\n{HARMLESS[more]}\n")).fields


GLOBAL = {
    "global": "def f():\n    global RATE\n    RATE = 4",
    "a decorated function": "@functools.lru_cache\ndef f():\n    global RATE\n    RATE += 1",
    "a function in a list": (
        "def outer():\n    def f():\n        global RATE\n        RATE = 4\n    return f\nALL = [outer()]"
    ),
    "a method of a class in a class": (
        "class A:\n    class B:\n        @property\n        def f(self):\n            global RATE\n            del RATE"
    ),
    "an attribute of the module": "def f(module):\n    module.RATE = 4",
    "a deleted attribute": "def f(module):\n    del module.RATE",
    "setattr": "def f(module):\n    setattr(module, 'RATE', 4)",
}
EVERYTHING = {
    "globals()": "def f():\n    globals()['RATE'] = 4",
    "globals() passed on": "def f():\n    g(globals())",
    "vars()": "def f(module):\n    vars(module)['RATE'] = 4",
    "locals()": "names = locals()",
    "update of vars()": "def f(module):\n    vars(module).update(RATE=4)",
    "vars by another name": "namespace = vars",
    "__dict__": "def f(module):\n    module.__dict__['RATE'] = 4",
    "__dict__ passed on": "def f(module):\n    g(module.__dict__)",
    "__dict__ by getattr": "def f(module):\n    getattr(module, '__dict__')['RATE'] = 4",
    "__globals__": "def f(g):\n    g.__globals__['RATE'] = 4",
    "__builtins__": "def f(g):\n    __builtins__['min'] = max",
    "setattr of any name": "def f(module, name):\n    setattr(module, name, 4)",
    "delattr of any name": "def f(module, name):\n    delattr(module, name)",
    "setattr by another name": "def f(module, put=setattr):\n    put(module, 'RATE', 4)",
    "setattr of builtins": "def f(module, name):\n    builtins.setattr(module, name, 4)",
    "vars of builtins": "def f(module):\n    return builtins.vars(module)",
    "getattr of any name": "def f(module, name):\n    getattr(module, name)",
    "getattr by another name": "def f(module, name):\n    return map(getattr, [module], [name])",
    "attrgetter of any name": "import operator\ndef f(name):\n    return operator.attrgetter('a', name)",
    "attrgetter of a namespace": "import operator\nfound = operator.attrgetter('a.__dict__')",
    "methodcaller": "import operator\nput = operator.methodcaller('__setattr__', 'RATE', 4)",
    "__setattr__": "def f(x):\n    object.__setattr__(x, 'RATE', 4)",
    "__delattr__": "def f(x):\n    x.__delattr__('RATE')",
    "__getattribute__": "def f(x):\n    object.__getattribute__(x, '__di' + 'ct__')['RATE'] = 4",
    "exec": "def f():\n    exec('RATE = 4')",
    "eval": "def f():\n    eval('(RATE := 4)')",
    "sys.modules": "def f(name):\n    sys.modules[name].RATE_ = 4",
    "modules of sys": "from sys import modules",
    "setattr imported": "from builtins import setattr as put",
    "methodcaller of any name": "import operator\ndef f(name):\n    return operator.methodcaller(name, 'RATE', 4)",
    "ctypes": "import ctypes",
    "runpy": "import runpy",
    "mock": "def f():\n    from mock import patch",
    "import_module": "def f():\n    from rekindle.x import import_module",
    "f_locals": "def f(frame):\n    return frame.f_locals",
    "f_builtins": "def f(frame):\n    return frame.f_builtins",
    "get_referents": "import gc\ndef f(x):\n    return gc.get_referents(x)",
    "get_objects": "import gc\ndef f():\n    return gc.get_objects()",
    "importlib": "def f():\n    import importlib.util",
    "from importlib": "def f():\n    from importlib import reload",
    "__import__": "def f(name):\n    __import__(name)",
    "unittest.mock": "from unittest.mock import patch",
    "a frame": "def f(frame):\n    frame.f_globals['RATE'] = 4",
    "__kwdefaults__": "def f(g):\n    g.__kwdefaults__['x'] = 4",
    "__defaults__": "def f(g):\n    g.__defaults__ = (1,)",
    "__code__": "def f(g, h):\n    g.__code__ = h.__code__",
    "__class__": "def f(x, kind):\n    x.__class__ = kind",
    "__init__ once more": "def f(x):\n    x.__init__(4)",
    "__init__ of something else": (
        "class C(Scaled):\n    def __init__(self, other):\n        Scaled.__init__(other, 4)\n"
    ),
    "__init__ by getattr": "def f(x):\n    getattr(x, '__init__')(4)",
    "__init__ by attrgetter": "import operator\nmade = operator.attrgetter('a.__init__')",
    "__init__ by methodcaller": "import operator\nmade = operator.methodcaller('__init__', 4)",
    "__init__ by a pattern": "def f(x):\n    match x:\n        case Base(__init__=again):\n            again(4)",
    "__init__ by __match_args__": "class Odd:\n    __match_args__ = ('__init__',)",
    "__dict__ by a pattern": "def f(x):\n    match x:\n        case Base(__dict__=d):\n            d['RATE'] = 4",
    "getattr by getattr": "def f(x, name):\n    getattr(builtins, 'getattr')(x, name)",
    "vars by getattr": "def f(x):\n    getattr(builtins, 'vars')(x)['RATE'] = 4",
    "modules by getattr": "def f(x):\n    setattr(getattr(sys, 'modules')[x], 'RATE_', 4)",
    "getattr imported by another name": "from builtins import getattr as got",
    "methodcaller imported by another name": "from operator import methodcaller as caller",
    "__code__ by setattr": "def f(g, h):\n    setattr(g, '__code__', h)",
    "__defaults__ by setattr": "def f(g):\n    setattr(g, '__defaults__', (1,))",
    "__defaults__ by a name": "def f(g):\n    for name in ('__defaults__',):\n        pass",
    "__class__ by setattr": "def f(x, kind):\n    setattr(x, '__class__', kind)",
    "update_wrapper": "def f(x, y):\n    functools.update_wrapper(x, y, assigned=())",
    "wraps": "def f(x, y):\n    functools.wraps(y, assigned=())(x)",
    "wraps imported": "from functools import wraps\ndef f(x, y):\n    wraps(y, assigned=())(x)",
    "wraps by another name": "from functools import wraps as w\ndef f(x, y):\n    w(y, assigned=())(x)",
    "wrap_function_wrapper": "def f(wrapt, x, y):\n    wrapt.wrap_function_wrapper(x, 'RATE_', y)",
    "a namespace to parse into": "def f(parser, x):\n    parser.parse_args([], namespace=x)",
    "a namespace to parse into, by place": "def f(parser, x):\n    parser.parse_known_args([], x)",
    "arguments that are parsed, starred": "def f(parser, x):\n    parser.parse_args(*x)",
    "importlib by the import of its metadata": (
        "import importlib.metadata\ndef f(module):\n    importlib.reload(module)"
    ),
    "entry points": "from importlib.metadata import entry_points",
    "__init__ in a lambda in it": (
        "class C(Scaled):\n    def __init__(self):\n        self.again = lambda: Scaled.__init__(self, 4)\n"
    ),
    "super().__init__ in a lambda in it": (
        "class C(Scaled):\n    def __init__(self):\n        self.again = lambda: super().__init__(4)\n"
    ),
    "__init__ in a generator in it": (
        "class C(Scaled):\n    def __init__(self):\n        self.again = (Scaled.__init__(self, 4) for _ in (1,))\n"
    ),
    "__init__ in a function in it": (
        "class C(Scaled):\n    def __init__(self):\n        self.again = lambda other: Scaled.__init__(other, 4)\n"
    ),
}
CELLS = {
    "nonlocal": "def outer():\n    number = 7\n    def f():\n        nonlocal number\n        number += 1\n",
    "__closure__": "def f(g):\n    g.__closure__[0].x = 4",
    "cell_contents": "def f(cell):\n    cell.cell_contents = 4",
    "exec": "def f(text):\n    exec(text)",
    "eval": "def f(text):\n    eval(text)",
    "ctypes": "import ctypes",
    "get_referrers": "import gc\ndef f(x):\n    return gc.get_referrers(x)",
    "get_referents": "import gc\ndef f(x):\n    return gc.get_referents(x)",
    "get_objects": "import gc\ndef f():\n    return gc.get_objects()",
}
SELF = {
    "get_result": "class C(Base):\n    def get_result(self, accumulator):\n        self.factor += 1",
    "another function": "def f(x):\n    x.factor = 4",
    "the class": "def f(x):\n    type(x).offset = 4",
    "a loop": "def f(x):\n    for x.factor in (1, 2):\n        pass",
    "with": "def f(x):\n    with open('x') as x.factor:\n        pass",
    "a method that is replaced": "Scaled.scaled = lambda self, x: x",
    "the method itself": "def f():\n    Scaled.map = None",
    "a class that is replaced": "def f(module):\n    module.Base = None",
    "the class itself": "def f(module):\n    module.Scaled = None",
    "__init__ that is no method": "def __init__(self):\n    self.factor = 4",
    "__init__ with another self": "class C:\n    def __init__(self, x):\n        self = x\n        self.factor = 4",
    "__init__ with another self by a pattern": (
        "class C:\n    def __init__(self, x):\n        match x:\n            case Base() as self: pass\n"
        "        self.factor = 4"
    ),
    "__init__ with another self by a pattern of a sequence": (
        "class C:\n    def __init__(self, x):\n        match x:\n            case [*self]: pass\n"
        "        self.factor = 4"
    ),
    "__init__ with another self by an exception": (
        "class C:\n    def __init__(self, x):\n        try: x()\n        except E as self: self.factor = 4"
    ),
    "__init__ with another self by an import": (
        "class C:\n    def __init__(self):\n        import text_program as self\n        self.factor = 4"
    ),
    "__init__ with another self in a function in it": (
        "class C:\n    def __init__(self, x):\n        def f():\n            nonlocal self\n            self = x\n"
        "        f()\n        self.factor = 4"
    ),
    "__init__ that is run later": "class C:\n    def __init__(self):\n        yield\n        self.factor = 4",
    "async __init__": "class C:\n    async def __init__(self):\n        self.factor = 4",
    "a generator in __init__": "class C:\n    def __init__(self):\n        self.f = (0 for self.factor in (1, 2))",
    "__init__ of another": "class C:\n    def __init__(self, x):\n        x.factor = 4",
    "a function in __init__": (
        "class C:\n    def __init__(self):\n        def f():\n            self.factor = 4\n        self.f = f"
    ),
    "a class in __init__": (
        "class C:\n    def __init__(self):\n        class D:\n            def f(this):\n                self.factor = 4"
    ),
    "__init__ that is decorated": (
        "class C:\n    @functools.cache\n    def __init__(self, factor):\n        self.factor = factor"
    ),
    "update of __dict__": "def f(x):\n    x.__dict__.update(factor=4)",
}
CHANGES = [
    *[("RATE", GLOBAL[name]) for name in GLOBAL],
    *[("RATE", EVERYTHING[name]) for name in EVERYTHING],
    *[("self", EVERYTHING[name]) for name in EVERYTHING],
    *[("number", CELLS[name]) for name in CELLS],
    *[("self", SELF[name]) for name in SELF],
    ("RATE", "def f(module):\n    module.cents = None"),
    ("RATE", "def f():\n    global cents"),
    ("min", "def f():\n    builtins.min = max"),
    ("min", "def f():\n    global min\n    min = max"),
    ("min", "def f():\n    math.pi = 3"),
    ("min", "def f(module):\n    module.math = None"),
    ("self.__secret", "class Secret_:\n    pass\ndef f(x):\n    x._Secret__secret = 4"),
    (
        "self.__secret",
        "class _Secret(Scaled):\n    def open(self):\n        pass\n    def f(self):\n        self.__secret = 4",
    ),
]


@pytest.mark.parametrize(("use", "more"), CHANGES)
def test_names_that_something_may_change_are_not_used(load: Load, use: str, more: str) -> None:
    module = load(f"{PROGRAM}\n{more}\n")
    with pytest.raises(NotTraceable, match=r"(it uses .*chang|it may change)"):
        USES[use](module)


FUNCTIONS = {
    "__defaults__": "def f(plain):\n    plain.__defaults__ = (50,)",
    "__code__": "def f(plain, other):\n    plain.__code__ = other",
    "__kwdefaults__": "def f(plain):\n    plain.__kwdefaults__ = {}",
    "__defaults__ by setattr": "def f(plain):\n    setattr(plain, '__defaults__', (50,))",
    "setattr of any name": "def f(plain, name):\n    setattr(plain, name, (50,))",
    "ctypes": "import ctypes",
    "exec": "def f(text):\n    exec(text)",
}


@pytest.mark.parametrize("more", FUNCTIONS)
@pytest.mark.parametrize("plain", ["def plain(row, n=1): return row.a * n", "plain = lambda row: row.a"])
def test_functions_that_something_may_change_are_not_traced(load: Load, plain: str, more: str) -> None:
    source = f"def make():\n    {plain}\n    return plain\n"
    assert trace(traceable_callable(load(source).make()), record(ROW)).fields
    sys.modules.pop("text_program")
    module: Any = load(f"{source}{FUNCTIONS[more]}\n")
    with pytest.raises(NotTraceable, match=r"it may change, because the program uses .* of text_program"):
        traceable_callable(module.make())


def test_functions_without_source_are_checked_against_what_can_be_read(load: Load) -> None:
    module: Any = load("def make():\n    return eval('lambda row: row.a')")
    with pytest.raises(NotTraceable, match="it may change, because the program uses eval"):
        traceable_callable(module.make())


def test_a_module_is_not_asked_for_what_it_does_not_hold(load: Load) -> None:
    source = f"{PROGRAM}\ndef __getattr__(name):\n    raise ImportError(name)\n"
    made = "def make():\n    class Own(Scaled):\n        pass\n    return Own(2)\n"
    module: Any = load(f"{source}{made}")
    assert trace(traceable(module.make(), "map"), record(ROW)).fields


def test_source_that_is_too_deep_to_read_is_not_read(load: Load) -> None:
    deep = f"def big(x): return 0{' + x' * 900}"
    with pytest.raises(NotTraceable, match="source cannot be read"):
        USES["number"](load(f"{PROGRAM}\n{deep}\n"))


@pytest.mark.parametrize("use", ["RATE", "self"])
class TestOtherModules:
    CHANGE = "def f():\n    text_program.RATE = text_program.Scaled.factor = 4"

    def test_a_module_that_imports_it_may_change_a_name(self, load: Load, use: str) -> None:
        module = load()
        USES[use](module)
        load(f"import text_program\n{self.CHANGE}", "text_importer")
        with pytest.raises(NotTraceable, match="line 3 of text_importer"):
            USES[use](module)

    def test_modules_are_looked_at_once_while_nothing_of_the_program_runs(self, load: Load, use: str) -> None:
        module = load()
        with standing_still(), mock.patch.object(program_text, "_loaded", wraps=program_text._loaded) as loaded:
            for _ in range(3):
                USES[use](module)
        assert loaded.call_count == 1
        load(f"import text_program\n{self.CHANGE}", "text_importer")
        with standing_still(), pytest.raises(NotTraceable, match="line 3 of text_importer"):
            USES[use](module)

    SECOND = "import text_importer\ndef f():\n    text_importer.rated.RATE = text_importer.x.factor = 4"

    def test_so_may_one_that_imports_what_imports_it(self, load: Load, use: str) -> None:
        module = load()
        load("from text_program import rated", "text_importer")
        load(self.SECOND, "text_second")
        with pytest.raises(NotTraceable, match="line 3 of text_second"):
            USES[use](module)

    def test_so_may_one_that_stands_before_what_it_imports(self, load: Load, use: str) -> None:
        module = load()
        load("from text_program import rated", "text_importer")
        load(self.SECOND, "text_second")
        sys.modules["text_importer"] = sys.modules.pop("text_importer")  # as after a circular import
        with pytest.raises(NotTraceable, match="line 3 of text_second"):
            USES[use](module)

    def test_so_may_one_that_it_imports(self, load: Load, use: str) -> None:
        load("def f(x):\n    x.RATE = x.factor = 4", "text_imported")
        with pytest.raises(NotTraceable, match="line 2 of text_imported"):
            USES[use](load(f"import text_imported\n{PROGRAM}"))

    @pytest.mark.parametrize("imported", ["import text_later", "from text_package import later", "from . import later"])
    def test_so_may_one_that_is_imported_in_a_function_later(
        self, load: Load, use: str, imported: str, tmp_path: Path
    ) -> None:
        package = tmp_path / "text_package"
        package.mkdir()
        (package / "__init__.py").write_text("raise AssertionError('imported for nothing')")
        (package / "later.py").write_text(self.CHANGE)
        load(self.CHANGE, "text_later", load=False)
        module = load(f"{PROGRAM}\ndef f():\n    {imported}")
        if imported.startswith("from . "):  # as if the function were in the package
            (package / "__init__.py").write_text(f"{PROGRAM}\ndef f():\n    {imported}")
            module = load(f"{PROGRAM}\n\ndef f():\n    import text_package")
        with pytest.raises(NotTraceable, match=r"line 2 of text_(package\.)?later"):
            USES[use](module)

    def test_so_may_one_without_source(self, load: Load, use: str, tmp_path: Path) -> None:
        (tmp_path / "text_broken.py").write_text("def f(:")
        with pytest.raises(NotTraceable, match="text_broken may change, whose source cannot be read"):
            USES[use](load(f"{PROGRAM}\ndef f():\n    import text_broken"))

    def test_so_may_one_that_holds_it_and_has_no_source(self, load: Load, use: str, tmp_path: Path) -> None:
        module = load()
        load("x = 1", "text_stranger")
        load("import text_program", "text_importer")
        (tmp_path / "text_stranger.py").unlink()
        USES[use](module)
        (tmp_path / "text_importer.py").unlink()
        with pytest.raises(NotTraceable, match="text_importer may change, whose source cannot be read"):
            USES[use](module)

    def test_installed_packages_may_not(
        self, load: Load, use: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        packages = tmp_path / "site-packages"
        packages.mkdir()
        (packages / "text_installed.py").write_text("def f(x):\n    x.RATE = x.factor = 4")
        monkeypatch.syspath_prepend(str(packages))
        assert USES[use](load(f"import text_installed\n{PROGRAM}")).fields

    @pytest.mark.parametrize("place", ["site-packages", "dist-packages"])
    def test_those_of_an_installed_program_may(
        self, load: Load, use: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
    ) -> None:
        package = tmp_path / place / "text_installed_program"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
        (package / "jobs.py").write_text(f"from text_installed_program import rates\n{PROGRAM}")
        (package / "rates.py").write_text("RATE = 1")
        other = tmp_path / place / "text_other_package.py"
        other.write_text("import text_installed_program.jobs\ndef f(x):\n    x.RATE = x.factor = 4")
        monkeypatch.syspath_prepend(str(tmp_path / place))
        try:
            module = importlib.import_module("text_installed_program.jobs")
            importlib.import_module("text_other_package")
            assert USES[use](module).fields
            (package / "rates.py").write_text("def f(x):\n    x.RATE = x.factor = 4")
            with pytest.raises(NotTraceable, match=r"line 2 of text_installed_program\.rates"):
                USES[use](module)
            (package / "rates.py").write_text("RATE = 1")
            monkeypatch.setattr(sys.modules["__main__"], "__file__", str(other))
            with pytest.raises(NotTraceable, match=r"line 3 of (text_other_package|__main__)"):
                USES[use](module)
        finally:
            for name in [name for name in sys.modules if name.startswith(("text_installed_program", "text_other"))]:
                del sys.modules[name]

    def test_a_base_class_in_an_installed_package_may(
        self, load: Load, use: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        packages = tmp_path / "site-packages"
        packages.mkdir()
        changing = (
            "class Mixin:\n    def f(self):\n        self.factor = self.RATE = 4\nRATE = 3\ndef same(x): return x"
        )
        (packages / "text_installed_base.py").write_text(changing)
        monkeypatch.syspath_prepend(str(packages))
        source = PROGRAM.replace("class Base(", "from text_installed_base import Mixin, same\nclass Base(Mixin, ")
        try:
            module = load(source.replace("cents(row.a)", "same(row.a)"))
            with pytest.raises(NotTraceable, match="line 3 of text_installed_base"):
                USES["self"](module)
        finally:
            sys.modules.pop("text_installed_base", None)

    def test_objects_in_the_place_of_modules_are_not_asked(self, load: Load, use: str, tmp_path: Path) -> None:
        class Settings:
            def __getattribute__(self, name: str) -> Any:
                raise AssertionError(f"asked for {name}")

        class Lazy(ModuleType):
            def __getattribute__(self, name: str) -> Any:
                raise AssertionError(f"asked for {name}")

        load("RATE = 4", "text_settings", load=False)
        sys.modules["text_settings"] = Settings()  # type: ignore[assignment]
        sys.modules["text_lazy"] = Lazy("text_lazy")
        try:
            module = load(f"import text_settings, text_lazy\n{PROGRAM}")
            assert USES[use](module).fields
            load("def f(x):\n    x.RATE = x.factor = 4", "text_settings", load=False)
            with pytest.raises(NotTraceable, match="line 2 of text_settings"):
                USES[use](module)
        finally:
            del sys.modules["text_settings"], sys.modules["text_lazy"]

    def test_so_may_the_main_program(
        self, load: Load, use: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        module = load()
        main = tmp_path / "main.py"
        monkeypatch.setattr(sys.modules["__main__"], "__file__", str(main))
        main.write_text("x = 1")
        USES[use](module)
        main.write_text("def f(x):\n    x.RATE = x.factor = 4")
        with pytest.raises(NotTraceable, match="line 2 of __main__"):
            USES[use](module)
        main.unlink()
        with pytest.raises(NotTraceable, match="__main__ may change, whose source cannot be read"):
            USES[use](module)
        monkeypatch.delattr(sys.modules["__main__"], "__file__")
        with pytest.raises(NotTraceable, match="the main program may change, whose source cannot be read"):
            USES[use](module)

    def test_others_may_not(self, load: Load, use: str) -> None:
        module = load()
        load(f"{self.CHANGE}\nvars()", "text_stranger")
        assert USES[use](module).fields


def test_functions_without_source_use_no_names() -> None:
    namespace: dict[str, Any] = {"RATE": 3}
    exec("def plain(row): return row.a + 1\ndef rated(row): return row.a * RATE", namespace)
    trace(traceable_callable(namespace["plain"]), record(ROW))
    with pytest.raises(NotTraceable, match="it uses names of a module whose source cannot be read"):
        traceable_callable(namespace["rated"])


@pytest.mark.parametrize(
    "odd", [{}, {"__name__": "x"}, {"__name__": "x", "__file__": 3}, {"__name__": 3, "__file__": "x"}]
)
def test_modules_of_no_name_or_place_have_no_source(odd: dict[str, Any]) -> None:
    namespace: dict[str, Any] = {"RATE": 3, **odd}
    exec("def rated(row): return row.a * RATE\nrated.__module__ = None", namespace)
    with pytest.raises(NotTraceable, match="it uses names of a module whose source cannot be read"):
        traceable_callable(namespace["rated"])


def test_a_class_of_a_module_without_source_is_not_traced(load: Load) -> None:
    module: Any = load()
    made = type("Made", (module.Base,), {"__module__": "nowhere", "map": module.Scaled.map})
    with pytest.raises(NotTraceable, match="it belongs to a Made, whose source cannot be read"):
        traceable(made(2), "map")


def test_functions_that_are_not_in_the_source_use_no_names(load: Load) -> None:
    module = load()
    exec("rated = lambda row: row.a * RATE", vars(module))
    with pytest.raises(NotTraceable, match="it is not what the source of text_program says"):
        USES["RATE"](module)


def test_classes_without_source_are_not_traced() -> None:
    namespace: dict[str, Any] = {"Base": importlib.import_module("rekindle.datastream").MapFunction}
    exec("class Made(Base):\n    def map(self, row): return row.a", namespace)
    with pytest.raises(NotTraceable, match="source cannot be read"):
        traceable(namespace["Made"](), "map")


def test_builtins_and_constants_that_were_replaced_are_not_used(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    module = load()
    for owner, name, other, reason in (
        (math, "pi", 3.0, r"it calls math\.pi"),
        (builtins, "min", functools.partial(min), "it calls min"),
    ):
        USES["min"](module)
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, other)
            with pytest.raises(NotTraceable, match=reason):
                USES["min"](module)


class TestModulesThatAreImportedAnew:
    SOURCE = """
import math
from math import inf, pi
from text_rates import RATE as OTHER, helper
RATE = 3
TWICE = 2 * RATE
READ = round(2.5)
if RATE:
    MAYBE = 1
for LOOPED in (1, 2):
    pass
BITS = 2**10 + (1 << 4)
if not RATE:
    min = max

def rated(row, more=1): return row.a * RATE + more
def other(row): return row.a + RATE
def twice(row): return row.a * TWICE - math.pi + inf + pi
def imported(row): return helper(row.a) * OTHER
def read(row): return row.a + READ
def maybe(row): return row.a + MAYBE
def looped(row): return row.a + LOOPED
def calls(row): return rated(row) + other(row)
def bits(row): return row.a + BITS
def most(row): return max(row.a, row.b)
def least(row): return min(row.a, row.b)

def decorator(f): return f

@decorator
def decorated(row): return row.a

if RATE:
    def conditional(row): return row.a

def twofold(row): return row.a
def twofold(row): return row.b

class Scaled:
    factor = 2
    bound = 1

    def __init__(self): self.one = 1
    def map(self, row): return self.times(row.a) * self.bound
    def times(self, x): return x * self.factor
    def added(self, x): return x + self.factor
    @staticmethod
    def still(x): return x
    @decorator
    def odd(self, row): return row.a
    def calm(self, row): return self.still(row.a)

class Half(Scaled):
    declared: int
    if not RATE:
        factor = bound = 7
        def times(self, x): return x
    def map(self, row): return row.a * self.factor
    def owned(self, row): return row.a * self.one
    def calm(self, row): return self.added(row.a)

class Declared(Scaled):
    factor: int
    one: int

@decorator
class Odd:
    def map(self, row): return row.a

class Called(type("Made", (), {})):
    def map(self, row): return row.a
"""

    @pytest.fixture
    def module(self, load: Load) -> Any:
        load("RATE = 4\ndef helper(x): return x - 1", "text_rates")
        return load(self.SOURCE)

    @pytest.mark.parametrize("name", ["rated", "twice", "imported", "calls", "bits", "most"])
    def test_what_the_source_says_is_used(self, module: Any, name: str) -> None:
        trace(traceable_callable(getattr(module, name)), record(ROW))

    @pytest.mark.parametrize(
        ("kind", "method"), [("Scaled", "map"), ("Scaled", "calm"), ("Half", "owned"), ("Declared", "map")]
    )
    def test_so_are_methods(self, module: Any, kind: str, method: str) -> None:
        trace(traceable(getattr(module, kind)(), method), record(ROW))

    @pytest.mark.parametrize("method", ["map", "calm"])
    def test_what_a_class_may_have_there_is_not(self, module: Any, method: str) -> None:
        with pytest.raises(NotTraceable, match=r"it uses self\.factor, which may be another value where Half"):
            trace(traceable(module.Half(), method), record(ROW))

    @pytest.mark.parametrize("value", ["2**1_000_000_000", "1 << 1_000_000_000", "'x' * 10**12", "(1,) * (1 << 40)"])
    def test_what_is_too_large_to_compute_is_not_computed(self, value: str) -> None:
        tree = ast.parse(value, mode="eval").body
        assert module_values._computed(tree, ()) is module_values._UNKNOWN

    @pytest.mark.parametrize("name", ["read", "maybe", "looped", "decorated", "conditional", "twofold", "least"])
    def test_what_it_does_not_say_is_not(self, module: Any, name: str) -> None:
        with pytest.raises(NotTraceable, match=r"(imported anew|not what the source)"):
            traceable_callable(getattr(module, name))

    @pytest.mark.parametrize(("kind", "method"), [("Scaled", "odd"), ("Odd", "map"), ("Called", "map")])
    def test_methods_and_classes_that_it_does_not_say_are_not(self, module: Any, kind: str, method: str) -> None:
        with pytest.raises(NotTraceable, match=r"(imported anew|not what the source|cannot be read)"):
            trace(traceable(getattr(module, kind)(), method), record(ROW))

    def test_a_function_in_the_place_of_another_is_not(self, module: Any) -> None:
        module.rated, module.other = module.other, module.rated
        with pytest.raises(NotTraceable, match="it uses rated, which may be another value"):
            traceable_callable(module.calls)

    def test_a_method_in_the_place_of_another_is_not(self, module: Any) -> None:
        module.Scaled.times = module.Scaled.added
        with pytest.raises(NotTraceable, match=r"it uses self\.times, which may be another value"):
            trace(traceable(module.Scaled(), "map"), record(ROW))

    def test_defaults_that_were_changed_are_not(self, module: Any) -> None:
        module.rated.__defaults__ = (2,)
        with pytest.raises(NotTraceable, match="it is not what the source of text_program says"):
            traceable_callable(module.rated)

    def test_an_attribute_of_the_class_that_equals_one_of_the_instance_is_not(self, module: Any) -> None:
        module.Scaled.bound = module.Scaled.factor = 1
        with pytest.raises(NotTraceable, match=r"it uses self\.factor, which may be another value"):
            trace(traceable(module.Scaled(), "map"), record(ROW))

    def test_an_imported_value_that_was_replaced_is_not(self, module: Any) -> None:
        sys.modules["text_rates"].RATE = module.OTHER = 5  # type: ignore[attr-defined]
        with pytest.raises(NotTraceable, match="it uses OTHER, which may be another value"):
            traceable_callable(module.imported)

    def test_code_that_was_replaced_is_not(self, module: Any) -> None:
        module.rated.__code__ = module.other.__code__
        with pytest.raises(NotTraceable, match="it is not what the source of text_program says"):
            traceable_callable(module.rated)

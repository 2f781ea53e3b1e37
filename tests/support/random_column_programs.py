"""Programs drawn at random as their authors would write them, in source code, with the tables that they read.

A program is the text of a module with a function ``build``, which is given the rows of a DataFrame and returns the
stream of results. Half of them are imported as modules are, and imported anew where their functions are unpickled; the
others are the user's script, whose functions are pickled whole. What cannot be traced is drawn, too, and what looks as if
it could: each must give with columns what it gives without.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

import pyarrow as pa

from support.column_cases import TYPES, values_of

INT, FLOAT, BOOL, TEXT, OTHER = "int", "float", "bool", "text", "other"
_KINDS = {
    **dict.fromkeys(("int8", "int16", "int32", "int64"), INT),
    **dict.fromkeys(("float32", "float64"), FLOAT),
    "bool": BOOL,
    "string": TEXT,
}
_ODD_NAMES = ("", "count", "index", "of", "_instance", "class", "a b", "_rekindle", "ä", "asDict", "fields")

_HEAD = '''"""A program drawn at random."""

import functools
import math
from typing import Any

import pyarrow as pa

from rekindle.common import Duration, Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import (
    AggregateFunction,
    FilterFunction,
    KeyedBatchFunction,
    KeySelector,
    MapFunction,
    OutputTag,
    ProcessWindowFunction,
    ReduceFunction,
)
from rekindle.datastream.state import StateTtlConfig, ValueStateDescriptor
from rekindle.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows

import shared_module
from shared_module import OTHER, Base, scaled

LATE = OutputTag("late")
SEEN = [0]
COUNTER = 0
KNOWN = {"rate": 2}
'''


SHARED_MODULE = '''"""What programs import."""

LEVEL = 3
OTHER = 5
COUNTED = 0


def scaled(x, by=2):
    return x * by


def lifted(x):
    return x + LEVEL


def counting(x):
    global COUNTED
    COUNTED += 1
    return x


def counted(x):
    return x + COUNTED


class Base:
    level = 4

    def lift(self, x):
        return x + self.level
'''
"""The text of a module of the name ``shared_module``, which every program imports."""


@dataclass(frozen=True)
class Column:
    """Describe a field of records: its name, where it has one, and what its values are to Python."""

    name: str
    kind: str


@dataclass(frozen=True)
class Records:
    """Describe records: ``row``, ``tuple`` or ``value``, and their fields."""

    shape: str
    columns: tuple[Column, ...]

    def places(self, *kinds: str) -> list[int]:
        """Return the fields of some kinds."""
        return [place for place, column in enumerate(self.columns) if column.kind in kinds]


@dataclass
class RandomProgram:
    """A program and what it reads.

    Attributes:
        seed: What it was drawn with.
        source: Its text.
        module: Whether it is imported as a module is, and not the user's script.
        parallelism: The number of subtasks.
        schema: The columns of its rows.
        tables: What each epoch reads.
        batch_rows: Of how many rows the batches are that a task reads.
        settings: Of the environment.
        stop_after: After how many tables it is stopped, and goes on from its savepoint; None: never.
        golden: What it is compared with: columns "off"; or "plain", where keys, too, are made as for any stream.
        side: Whether its results are pairs that begin with "late" or "in time".
        traits: What is odd about it, in words.
    """

    seed: str
    source: str
    module: bool
    parallelism: int
    schema: pa.Schema
    tables: list[pa.Table]
    batch_rows: int
    settings: dict[str, str] = field(default_factory=dict)
    stop_after: int | None = None
    golden: str = "off"
    side: bool = False
    traits: list[str] = field(default_factory=list)


def random_program(seed: object) -> RandomProgram:
    """Draw a program."""
    return _Author(random.Random(f"program {seed}"), str(seed)).program()


class _Scope:
    """What an expression may use: records by the name of their variable, and how it comes by constants."""

    def __init__(self, form: str, **records: Records) -> None:
        self.form = form
        self.records = records
        self.variables: list[tuple[str, str]] = []  # local ones, and their kinds
        self.attributes: dict[str, str] = {}  # of self, or of a closure, or defaults: name and literal
        self.helpers: list[str] = []  # methods of the class


class _Author:
    def __init__(self, rng: random.Random, seed: str) -> None:
        self.rng = rng
        self.seed = seed
        self.lines: list[str] = []  # of the module, before build
        self.body: list[str] = []  # of build
        self.after: list[str] = []  # at the end of build
        self.constants: dict[str, str] = {}
        self.traits: list[str] = []
        self.numbers = 0
        self.hostile = 0.0 if rng.random() < 0.6 else 0.1
        self.odd_constants = rng.random() < 0.15
        self.risky = rng.random() < 0.08  # divides by what may be zero, and the like
        self.focus = rng.random() < 0.3  # on windows that are folded before the exchange, over several tables
        if self.focus and rng.random() < 0.5:
            self.hostile = 0.0
        self.unordered = False  # whether the records of one key come in any order
        self.side = False
        self.unique = False  # whether each table has one record of a key at most, so that it makes no difference
        self.module_constants()

    # --- small things ---

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def pick(self, *choices):  # type: ignore[no-untyped-def]
        return self.rng.choice(choices)

    def name(self, prefix: str) -> str:
        self.numbers += 1
        return f"{prefix}_{self.numbers}"

    def trait(self, text: str) -> None:
        if text not in self.traits:
            self.traits.append(text)

    def module_constants(self) -> None:
        for name, literal in (
            ("RATE", self.literal(INT)),
            ("SCALE", self.literal(FLOAT)),
            ("LIMIT", self.literal(INT)),
        ):
            self.constants[name] = literal
            self.lines.append(f"{name} = {literal}")
        self.lines += [
            f"DERIVED = {self.pick('RATE * 2', '-LIMIT', 'RATE + LIMIT', 'round(2.5)', 'abs(RATE)', 'int(SCALE)')}",
            "",
        ]

    def literal(self, kind: str) -> str:
        rng = self.rng
        if kind == INT:
            if self.odd_constants and self.chance(0.3):
                return self.pick(
                    "0", "1 << 62", "(1 << 63) - 1", "-(1 << 63)", "(1 << 53) + 1", "1 << 70", "True", "-1"
                )
            return str(self.pick(1, 2, 3, 5, 7, 10, 100, -3, -1, rng.randint(-50, 50) or 4))
        if kind == FLOAT:
            if self.odd_constants and self.chance(0.4):
                return self.pick(
                    "0.0", "-0.0", "math.inf", "-math.inf", "math.nan", "1e308", "5e-324", "9007199254740993.0"
                )
            return repr(self.pick(0.5, 2.0, -1.5, 0.1, 1.0, 3.25, round(rng.uniform(-9, 9), 3)))
        if kind == TEXT:
            return repr(self.pick("", "a", "b", "x", "ä", "zz"))
        return self.pick("True", "False")

    # --- expressions ---

    def access(self, variable: str, records: Records, place: int) -> str:
        if records.shape == "value":
            return variable
        column = records.columns[place]
        forms = [f"{variable}[{place}]"]
        if records.shape == "row":
            plain = column.name.isidentifier() and column.name not in ("class", "count", "index", "asDict")
            forms = [f"{variable}.{column.name}"] * 6 if plain else [f"{variable}[{column.name!r}]"]
            forms += [f"{variable}[{place}]", f"{variable}[{column.name!r}]"]
            if self.chance(0.05):
                forms = [f"{variable}[{place - len(records.columns)}]"]
        return self.rng.choice(forms)

    def fields(self, scope: _Scope, *kinds: str) -> list[str]:
        found = [self.access(v, r, p) for v, r in scope.records.items() for p in r.places(*kinds)]
        return found + [name for name, kind in scope.variables if kind in kinds]

    def constant(self, scope: _Scope, kind: str) -> str:
        """Return a constant: a literal, or by a name as the form of the function has it."""
        roll = self.rng.random()
        if roll < 0.45:
            return self.literal(kind)
        if roll < 0.65 or scope.form == "plain":
            if kind == FLOAT:
                return self.pick("SCALE", "SCALE", "math.pi", "math.e")
            if kind == INT:
                return self.pick("RATE", "LIMIT", "DERIVED")
            return self.literal(kind)
        name = self.pick("factor", "offset", "bound", "step") + f"_{kind}"
        if self.hostile and scope.form == "class":
            name = self.pick(name, name, "_instance", "of", "_kind", "instance", "__dict", "_rekindle", "fields")
        scope.attributes.setdefault(name, self.literal(kind))
        return f"self.{name}" if scope.form == "class" else name

    def number(self, scope: _Scope, depth: int, kind: str) -> str:
        """Draw an expression whose values are of a kind of numbers."""
        if self.chance(self.hostile):
            found = self.odd_expression(scope, kind)
            if found is not None:
                return found
        known = self.fields(scope, kind)
        if depth <= 0 or self.chance(0.25):
            if known and self.chance(0.8):
                return self.rng.choice(known)
            return self.constant(scope, kind)
        roll = self.rng.random()
        one, other = (
            (lambda k=kind: self.number(scope, depth - 1, k)),
            (lambda k=kind: self.number(scope, depth - 1, k)),
        )
        if roll < 0.5:
            left, right = one(), other()
            if kind == FLOAT and self.chance(0.3):
                right = other(INT)
            if kind == FLOAT and self.chance(0.2):
                left = one(INT)
                right = self.number(scope, depth - 1, FLOAT)
            symbol = self.pick("+", "-", "*", "+", "-")
            return f"({left} {symbol} {right})"
        if roll < 0.62:
            divisor = self.divisor(scope, depth, self.pick(INT, FLOAT) if kind == FLOAT else INT)
            if kind == FLOAT:
                return f"({one(self.pick(INT, FLOAT))} {self.pick('/', '/', '/', '//', '%')} {divisor})"
            return f"({one()} {self.pick('//', '%')} {divisor})"
        if roll < 0.70:
            return f"(-{one()})" if self.chance(0.6) else f"abs({one()})"
        if roll < 0.82:
            return self.extreme(one(), other(), self.pick("min", "max"))
        if roll < 0.92:
            return f"({one()} if {self.condition(scope, depth - 1)} else {other()})"
        return self.helped(scope, depth, kind)

    def divisor(self, scope: _Scope, depth: int, kind: str) -> str:
        if self.risky and self.chance(0.3):
            return self.number(scope, depth - 1, kind)
        roll = self.rng.random()
        if roll < 0.7:
            return str(self.pick(2, 3, 7, 10, -3)) if kind == INT else repr(self.pick(2.0, 0.5, -3.0, 0.1))
        if roll < 0.8:
            return self.pick("math.inf", "math.pi") if kind == FLOAT else "1000003"
        return f"(abs({self.number(scope, depth - 1, kind)}) + {1 if kind == INT else 0.5})"

    def extreme(self, one: str, other: str, which: str) -> str:
        """Spell min or max of two expressions in one of the ways in which that is done."""
        less = which == "min"
        spelled = [
            f"{which}({one}, {other})",
            f"{which}({one}, {other})",
            f"{which}({other}, {one})",
            f"({one} if {one} {'<' if less else '>'} {other} else {other})",
            f"({one} if {one} {'<=' if less else '>='} {other} else {other})",
            f"({other} if {other} {'<' if less else '>'} {one} else {one})",
            f"({other} if {one} {'>' if less else '<'} {other} else {one})",
            f"({one} if {other} {'>=' if less else '<='} {one} else {other})",
            f"({one} if not {one} {'>' if less else '<'} {other} else {other})",
        ]
        return self.rng.choice(spelled)

    def condition(self, scope: _Scope, depth: int) -> str:
        roll = self.rng.random()
        if depth > 0 and roll < 0.12:
            return f"({self.condition(scope, depth - 1)} {self.pick('and', 'or')} {self.condition(scope, depth - 1)})"
        if roll < 0.17:
            return f"(not {self.condition(scope, depth - 1)})"
        bools, texts = self.fields(scope, BOOL), self.fields(scope, TEXT)
        if bools and roll < 0.27:
            return self.rng.choice(bools)
        symbol = self.pick("<", "<=", ">", ">=", "==", "!=")
        if texts and roll < 0.37:
            return (
                f"({self.rng.choice(texts)} {symbol} {self.rng.choice([self.literal(TEXT), self.rng.choice(texts)])})"
            )
        if roll < 0.42:
            return self.number(scope, depth - 1, self.pick(INT, FLOAT))
        if roll < 0.47:
            a, b = self.literal(INT), self.literal(INT)
            return f"({a} {self.pick('<', '<=')} {self.number(scope, depth - 1, INT)} {self.pick('<', '<=')} {b})"
        left = self.number(scope, min(depth, 1), self.pick(INT, FLOAT))
        return f"({left} {symbol} {self.number(scope, 0, self.pick(INT, INT, FLOAT))})"

    def helped(self, scope: _Scope, depth: int, kind: str) -> str:
        """Call a helper: a function of the module, a method, a static method."""
        inner = _Scope("plain")
        inner.variables = [("x", kind)]
        expression = self.number(inner, 1, kind)
        argument = self.number(scope, depth - 1, kind)
        roll = self.rng.random()
        if scope.form == "class" and roll < 0.5:
            name = (
                self.pick("scaled", "of", "helper", "trace", "fields", "_instance", "answer") + f"_{len(scope.helpers)}"
            )
            if self.chance(0.3):
                name = self.pick("of", "_copied", "record", "shape", "_rekindle", "given", "_found") + (
                    "" if not scope.helpers else str(len(scope.helpers))
                )
            if self.chance(0.3):
                scope.helpers += ["@staticmethod", f"def {name}(x):", f"    return {expression}", ""]
            elif self.hostile and self.chance(0.1):
                self.trait("a class method")
                scope.helpers += ["@classmethod", f"def {name}(cls, x):", f"    return {expression}", ""]
            elif self.hostile and self.chance(0.25):
                self.trait("a method with a side effect")
                scope.attributes.setdefault("calls", "0")
                scope.helpers += [
                    f"def {name}(self, x):",
                    "    self.calls += 1",
                    f"    return {expression} + self.calls",
                    "",
                ]
            else:
                scope.helpers += [f"def {name}(self, x):", f"    return {expression}", ""]
            return f"self.{name}({argument})"
        name = self.name("helper")
        if roll < 0.85 or not self.hostile:
            default = self.chance(0.3)
            self.lines += [
                f"def {name}(x{', y=' + self.literal(INT) if default else ''}):",
                f"    return {expression}{' + y' if default else ''}",
                "",
                "",
            ]
            if default and self.hostile and self.chance(0.3):
                self.trait("defaults that are changed")
                self.body.append(f"{name}.__defaults__ = (77,)")
            elif self.hostile and self.chance(0.2):
                self.trait("a function that is replaced")
                self.lines += [f"def other_{name}(x, y=3):", f"    return x * {self.literal(INT)} + y", "", ""]
                self.body += self.pick(
                    [f"globals()[{name!r}] = other_{name}"],
                    [f"{name}.__code__ = other_{name}.__code__", f"{name}.__defaults__ = other_{name}.__defaults__"],
                )
        else:
            self.trait("a helper behind a decorator")
            wrapped = self.name("counted")
            self.lines += [
                f"def {wrapped}(function):",
                f"    {self.pick('@functools.wraps(function)', '@functools.lru_cache(None)', '# plain')}",
                "    def inner(x):",
                "        SEEN[0] += 1",
                "        return function(x) + SEEN[0]" if self.chance(0.5) else "        return function(x)",
                "",
                "    return inner",
                "",
                "",
                f"@{wrapped}",
                f"def {name}(x):",
                f"    return {expression}",
                "",
                "",
            ]
        return f"{name}({argument})"

    def odd_expression(self, scope: _Scope, kind: str) -> str | None:
        """Draw something that has no column form, or looks as if it had another one."""
        x = self.number(scope, 0, kind)
        floats = self.fields(scope, FLOAT) or ["SCALE"]
        f = self.rng.choice(floats)
        choices: list[tuple[str, str]] = [
            ("tuples compared", f"(1 if ({f}, 1) == ({f}, 1) else 2)"),
            ("identity", f"(1 if {f} is {f} else 2)"),
            ("NaN in a tuple", f"(1 if {f} in ({f}, 2.0) else 2)"),
            ("text of a value", f"len(str({x}))"),
            ("formatting", f'len("{{0.__class__}}".format({x}))'),
            ("an f-string", f'len(f"{{{x}}}")'),
            ("a type", f"(1 if type({x}) is int else 2)"),
            ("isinstance", f"(1 if isinstance({x}, float) else 2)"),
            ("a counter", "SEEN.__len__()"),
            ("a list of the module", "SEEN[0]"),
            ("a dict of the module", "KNOWN['rate']"),
            ("a variable that is counted", "COUNTER"),
            ("a power", f"({x} ** 2)"),
            ("a conversion", f"{self.pick('int', 'float', 'bool', 'round')}({self.literal(kind)})"),
            ("a bit operation", f"({self.number(scope, 0, INT)} {self.pick('&', '|', '^')} {self.literal(INT)})"),
            ("an attribute of a number", f"({x}).real"),
            ("min of three", f"min({x}, {f}, {self.literal(INT)})"),
            ("min with a key", f"min({x}, {self.literal(INT)}, key=abs)"),
            ("min of a tuple", f"min(({x}, {self.literal(INT)}))"),
            ("a sum of a tuple", f"sum(({x}, {self.literal(INT)}))"),
            ("an assignment in an expression", f"((y := {x}) + y)"),
            ("functions compared", "(1 if abs == abs else 2)"),
            ("or", f"({x} or {self.literal(kind)})"),
            ("and", f"({x} and {self.literal(kind)})"),
            ("a tuple taken apart", f"({x}, 5)[0]"),
            ("a chosen item of a tuple", f"({self.literal(kind)}, {x})[{self.condition(scope, 0)}]"),
            ("a comparison as a number", f"(({x} > 0) + 1)"),
            ("a nested lambda", f"(lambda y: y + 1)({x})"),
            ("a zero that is subtracted", f"({f} - 0)"),
            ("a zero that is added", f"({f} + 0)"),
            ("an exact one", f"({x} * 1)"),
            ("a product with minus one", f"({f} * -1)"),
            ("a floor", f"math.floor({self.literal(FLOAT)})"),
            (
                "another module",
                f"{self.pick('OTHER', 'shared_module.LEVEL', 'shared_module.OTHER', 'shared_module.COUNTED')}",
            ),
            (
                "a function of another module",
                f"{self.pick('scaled', 'shared_module.lifted', 'shared_module.counted')}({x})",
            ),
            ("a null check", f"(0 if {x} is None else {x})"),
        ]
        if scope.form == "class":
            choices += [
                ("self as truth", f"({x} if self else 2)"),
                ("self compared", "(1 if self == 3 else 2)"),
                ("self as text", "len(str(type(self).__name__))"),
                ("self in a tuple", "(1 if (self, 1) == (self, 1) else 2)"),
                ("a class variable by type(self)", "type(self).shared"),
                ("a class variable by self.__class__", "self.__class__.shared"),
                ("a class variable by super()", "super().shared" if False else "self.shared"),
                ("two of self", "(1 if self is self else 2)"),
                ("a method compared", "(1 if self.__init__ == self.__init__ else 2)"),
                ("a class variable", "self.shared"),
                ("an attribute that may be missing", "getattr(self, 'shared', 3)"),
                ("self in a format", "len('{0.shared}'.format(self))"),
            ]
        name, expression = self.rng.choice(choices)
        if scope.form == "lambda" and ":=" in expression:
            return None
        self.trait(name)
        if "shared_module" in expression or "scaled(" in expression or "OTHER" in expression:
            if self.chance(0.4):
                self.trait("another module that is changed")
                self.body.append(
                    self.pick(
                        "shared_module.LEVEL = 8",
                        "shared_module.OTHER = 9",
                        "shared_module.scaled.__defaults__ = (4,)",
                        "shared_module.lifted = scaled",
                        "shared_module.lifted.__code__ = shared_module.counted.__code__",
                    )
                )
            elif self.chance(0.5) and not any("shared_module.counting" in line for line in self.after):
                self.trait("another module that changes itself")
                self.after.append(
                    self.pick(
                        "stream = stream.map(shared_module.counting)",
                        "stream = stream.map(lambda v: shared_module.counting(v))",
                    )
                )
        if "COUNTER" in expression or "SEEN" in expression or "KNOWN" in expression:
            self.change_globals()
        if "shared" in expression:
            scope.attributes["shared"] = "CLASS"
        return expression

    def change_globals(self) -> None:
        """Let some function of the program change the variables of the module."""
        if any("def change" in line for line in self.lines):
            return
        self.trait("globals that are changed")
        way = self.pick(
            ["    global COUNTER", "    COUNTER += 1"],
            ["    SEEN[0] += 1"],
            ["    KNOWN['rate'] += 1"],
            ["    globals()['COUNTER'] = COUNTER + 1"],
            ["    SEEN.append(1)"],
        )
        self.lines += ["def change(value):", *way, "    return value", "", ""]
        self.after.append("stream = stream.map(change)")

    # --- functions ---

    def function(self, base: str, method: str, records: dict[str, Records], result, wrapped: str | None = None) -> str:  # type: ignore[no-untyped-def]
        """Write a function down in one of the ways in which that is done; return how it is named where it is used.

        Args:
            base: The function class; one of its kind has ``method``.
            method: The method.
            records: The parameters.
            result: Draws what the function returns, given a scope.
            wrapped: How a plain function is put into the place of a function class; None: it is taken as it is.
        """
        forms = ["lambda"] * 6 + ["def"] * 5 + ["class"] * 6 + ["closure", "defaults", "bound", "static", "local"]
        if self.hostile and base != "AggregateFunction":
            forms += ["decorated", "partial", "callable", "unbound"]
        if wrapped is not None:
            forms = ["class"]
        form = self.rng.choice(forms)
        names = list(records)
        kind = {
            "class": "class",
            "bound": "class",
            "callable": "class",
            "closure": "closure",
            "local": "closure",
            "defaults": "closure",
            "lambda": "lambda",
        }.get(form, "plain")
        scope = _Scope(kind, **records)
        if form in ("lambda", "local"):
            if form == "local":
                text = result(scope)
                for name, literal in scope.attributes.items():
                    self.body.append(f"{name} = {'7' if literal == 'CLASS' else literal}")
                return f"lambda {', '.join(names)}: {text}"
            scope.form = "plain"
            return f"lambda {', '.join(names)}: {result(scope)}"
        body = self.statements(scope, result)
        own = self.name(base.lower().replace("function", "_fn") if form != "class" else base.replace("Function", ""))
        parameters = ", ".join(names)
        if form == "def":
            self.lines += [f"def {own}({parameters}):", *_indented(body), "", ""]
            return own
        if form == "defaults":
            given = "".join(f", {name}={literal}" for name, literal in scope.attributes.items())
            self.lines += [f"def {own}({parameters}{given}):", *_indented(body), "", ""]
            return own
        if form == "closure":
            outer = ", ".join(scope.attributes)
            self.lines += [
                f"def make_{own}({outer}):",
                f"    def {own}({parameters}):",
                *_indented(body, 2),
                "",
                f"    return {own}",
                "",
                "",
            ]
            return f"make_{own}({', '.join(scope.attributes.values())})"
        if form == "static":
            self.lines += [
                f"class Holder_{own}:",
                "    @staticmethod",
                f"    def {own}({parameters}):",
                *_indented(body, 2),
                "",
                "",
            ]
            return f"Holder_{own}.{own}"
        if form == "decorated":
            decorator = self.name("decorator")
            counts = self.pick(["        SEEN[0] += 1"], ["        global COUNTER", "        COUNTER += 1"], [])
            self.lines += [
                f"def {decorator}(function):",
                "    @functools.wraps(function)",
                "    def inner(*values):",
                *counts,
                "        return function(*values)",
                "",
                "    return inner",
                "",
                "",
                f"@{decorator}",
                f"def {own}({parameters}):",
                *_indented(body),
                "",
                "",
            ]
            self.trait("a decorator")
            return own
        if form == "partial":
            self.trait("a partial")
            self.lines += [f"def {own}(extra, {parameters}):", *_indented(body), "", ""]
            return f"functools.partial({own}, 5)"
        if form == "unbound":
            self.trait("an aliased method")
            self.lines += [
                f"class Holder_{own}:",
                f"    def {own}({parameters}):",
                *_indented(body, 2),
                "",
                "",
                f"alias_{own} = Holder_{own}.{own}",
                "",
            ]
            return f"alias_{own}"
        extends = "" if form in ("bound", "callable") else f"({base})"
        called = {"bound": "work", "callable": "__call__"}.get(form, method)
        instance = self.a_class(own, extends, called, parameters, body, scope)
        return f"{instance}.work" if form == "bound" else instance

    def statements(self, scope: _Scope, result) -> list[str]:  # type: ignore[no-untyped-def]
        """Write the body of a function: an expression, or with branches and variables before it."""
        body = []
        roll = self.rng.random()
        if scope.records and roll < 0.25:
            kind = self.pick(INT, FLOAT)
            body.append(f"local = {self.number(scope, 1, kind)}")
            scope.variables.append(("local", kind))
        if roll > 0.88:
            condition = self.condition(scope, 1)
            one = result(scope)
            if self.chance(0.5):
                body += [f"if {condition}:", f"    return {one}"]
            else:
                body += [
                    f"if {condition}:",
                    f"    found = {one}",
                    "else:",
                    f"    found = {result(scope)}",
                    "return found",
                ]
                return body
        returned = result(scope)
        if body and "local" not in returned and self.chance(0.8):
            body = []  # what is computed for nothing is never traced
        return [*body, f"return {returned}"]

    def a_class(self, own: str, extends: str, method: str, parameters: str, body: list[str], scope: _Scope) -> str:
        """Write a class with its constants as attributes of the instance, of the class or of a base class."""
        kinds = {name: self.pick("own", "own", "class", "base", "given") for name in scope.attributes}
        kinds |= {name: "class" for name, literal in scope.attributes.items() if literal == "CLASS"}
        values = {name: ("7" if literal == "CLASS" else literal) for name, literal in scope.attributes.items()}
        if any(kind == "base" for kind in kinds.values()):
            self.lines += [
                f"class Base_{own}{extends}:",
                *(f"    {n} = {values[n]}" for n, k in kinds.items() if k == "base"),
                "",
                "",
            ]
            extends = f"(Base_{own})"
        written = [f"class {own}{extends}:", *(f"    {n} = {values[n]}" for n, k in kinds.items() if k == "class")]
        given = [n for n, k in kinds.items() if k == "given"]
        mine = [n for n, k in kinds.items() if k in ("own", "given")]
        if mine:
            written += [f"    def __init__(self{''.join(', ' + n for n in given)}):"]
            written += [f"        self.{n} = {n if n in given else values[n]}" for n in mine] + [""]
        written += [*_indented(scope.helpers), f"    def {method}(self, {parameters}):", *_indented(body, 2), ""]
        if self.hostile:
            written += self.odd_members(scope)
        self.lines += [*written, ""]
        instance = f"{own}({', '.join(values[n] for n in given)})"
        if self.hostile and mine and self.chance(0.15):
            self.trait("an attribute that is set later")
            variable = own.lower()
            self.body.append(f"{variable} = {instance}")
            target = self.body if self.chance(0.5) else self.after
            target.append(f"{variable}.{self.rng.choice(mine)} = {self.literal(INT)}")
            instance = variable
        elif self.hostile and "class" in kinds.values() and self.chance(0.4):
            changed = self.rng.choice([n for n, k in kinds.items() if k == "class"])
            if self.chance(0.3) and mine:
                self.trait("a class variable that is now what an attribute is")
                self.body.append(f"{own}.{changed} = {values[mine[0]]}")
            elif self.chance(0.4):
                self.trait("a class variable that is changed before it is run")
                self.after.append(f"{own}.{changed} = {self.literal(INT)}")
            else:
                self.trait("a class variable that a later operator changes")
                self.lines += [f"def raise_{own}(value):", f"    {own}.{changed} += 1", "    return value", "", ""]
                self.after.append(f"stream = stream.map(raise_{own})")
        return instance

    def odd_members(self, scope: _Scope) -> list[str]:
        members: list[tuple[str, list[str]]] = [
            ("open", ["def open(self, runtime_context):", "    self.opened = True", ""]),
            ("close", ["def close(self):", "    pass", ""]),
            ("__bool__", ["def __bool__(self):", "    return False", ""]),
            ("__eq__", ["def __eq__(self, other):", "    return True", "", "__hash__ = None", ""]),
            ("__getattr__", ["def __getattr__(self, name):", "    raise AttributeError(name)", ""]),
            ("__getstate__", ["def __getstate__(self):", "    return {**self.__dict__, 'factor_int': 9}", ""]),
            ("__len__", ["def __len__(self):", "    return 0", ""]),
            ("__format__", ["def __format__(self, spec):", "    return 'x'", ""]),
        ]
        if not self.chance(0.12):
            return []
        name, lines = self.rng.choice(members)
        self.trait(f"a class with {name}")
        return _indented(lines)

    # --- operators ---

    def program(self) -> RandomProgram:
        rng = self.rng
        schema = self.schema()
        records = Records("row", tuple(Column(f.name, _KINDS.get(_kind(f.type), OTHER)) for f in schema))
        windowed, untimed = self.focus or self.chance(0.5), True
        parallelism = 1 if self.focus else self.pick(1, 1, 1, 2, 3)
        late = parallelism == 1
        # Records are dealt out to several subtasks that make watermarks, which then send them in any order.
        self.unordered = windowed and parallelism > 1
        self.unique = self.unordered and self.chance(0.4)
        if self.unordered:
            self.hostile = 0.0
        stream = "stream"
        if windowed and self.chance(0.5):
            self.timestamps(records, late)
            untimed = False
        for _ in range(self.pick(0, 0, 0, 1, 1, 2)):
            records = self.step(records, needs_time=windowed and untimed)
        if windowed and untimed:
            self.timestamps(records, late)
            for _ in range(self.pick(0, 0, 1)):
                records = self.step(records, needs_time=False)
        keyed = self.keyed(stream, records)
        if windowed:
            self.windows(keyed, records, late)
        else:
            self.running(keyed, records)
        source = "\n".join(
            [
                _HEAD,
                *self.lines,
                "def build(stream):",
                *_indented(self.globals_changed_in_build()),
                *_indented([*self.body, *self.after, "return stream"]),
                "",
            ]
        )
        tables = self.tables(schema)
        stop = rng.randint(1, len(tables) - 1) if self.chance(0.12) else None
        settings = {"pipeline.max-parallelism": "128"} if self.chance(0.2) else {}
        if self.chance(0.06):
            settings["rekindle.columns.combine-floats"] = "false"
        return RandomProgram(
            self.seed,
            source,
            self.chance(0.5),
            parallelism,
            schema,
            tables,
            self.pick(1, 3, 7, 40, 40, 40),
            settings,
            stop,
            self.pick("off", "off", "plain"),
            self.side,
            self.traits,
        )

    def globals_changed_in_build(self) -> list[str]:
        if not self.hostile or not self.chance(0.25):
            return []
        self.trait("a constant that is changed before the program runs")
        name = self.pick("RATE", "SCALE", "LIMIT", "DERIVED")
        value = self.literal(FLOAT if name == "SCALE" else INT)
        if self.chance(0.5):
            return [f"global {name}", f"{name} = {value}"]
        self.after.append(f"globals()[{name!r}] = {value}")
        return []

    def schema(self) -> pa.Schema:
        rng = self.rng
        columns = [
            ("k", pa.int64()),
            ("s", pa.string()),
            ("i", TYPES[self.pick("int8", "int16", "int32", "int32", "int64", "int64")]),
            ("f", TYPES[self.pick("float32", "float64", "float64", "float64")]),
            ("b", pa.bool_()),
            ("x", TYPES[rng.choice(list(TYPES))]),
            ("t", pa.int64()),
        ]
        if self.chance(0.15):
            columns.append((rng.choice(_ODD_NAMES), TYPES[rng.choice(list(TYPES))]))
        if self.chance(0.3):
            rng.shuffle(columns)
        return pa.schema(columns)

    def timestamps(self, records: Records, late: bool) -> None:
        ints = [p for p in records.places(INT) if records.columns[p].name == "t"] or records.places(INT)
        place = ints[0]
        text = self.access("value", records, place)
        body = text if self.chance(0.8) else f"{text} {self.pick('+ 3', '* 2', '- RATE', '// 2')}"
        own = self.name("Times")
        self.lines += [
            f"class {own}(TimestampAssigner):",
            "    def extract_timestamp(self, value, record_timestamp):",
            f"        return {body}",
            "",
            "",
        ]
        wait = self.pick(0, 20, 60, 150)
        if not late:
            made = "WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(90))"
        elif self.chance(0.5) or not wait:
            made = "WatermarkStrategy.for_monotonous_timestamps()"
        else:
            made = f"WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis({wait}))"
        self.body.append(f"stream = stream.assign_timestamps_and_watermarks({made}.with_timestamp_assigner({own}()))")

    def step(self, records: Records, needs_time: bool) -> Records:
        if self.chance(0.5):
            call = self.function(
                "FilterFunction", "filter", {self.pick("row", "r", "value"): records}, lambda s: self.condition(s, 2)
            )
            self.body.append(f"stream = stream.filter({call})")
            return records
        return self.mapped(records, needs_time)

    def mapped(self, records: Records, needs_time: bool) -> Records:
        """Make other records: tuples of fields and computed values, or single values."""
        value = not needs_time and self.chance(0.12)
        wanted: list[tuple[str, int | None, str]] = []  # kind, place of the field that is carried, name
        if value:
            wanted.append((self.pick(INT, FLOAT), None, ""))
        else:
            keys = [p for p, c in enumerate(records.columns) if c.name == "k"] or records.places(INT, TEXT)
            times = [p for p, c in enumerate(records.columns) if c.name == "t"] or records.places(INT)
            if keys:
                wanted.append((records.columns[keys[0]].kind, keys[0], "k"))
            for _ in range(self.rng.randint(1, 3)):
                if self.chance(0.35):
                    place = self.rng.randrange(len(records.columns))
                    wanted.append((records.columns[place].kind, place, ""))
                else:
                    wanted.append((self.pick(INT, FLOAT, FLOAT), None, ""))
            if times:
                wanted.append((INT, times[0], "t"))
            if self.chance(0.05):
                wanted.append((self.pick(TEXT, BOOL), -1, ""))  # a constant

        def result(scope: _Scope) -> str:
            variable = next(iter(scope.records))
            parts = []
            for kind, place, _ in wanted:
                if place == -1:
                    parts.append(self.literal(kind))
                elif place is not None:
                    parts.append(self.access(variable, records, place))
                else:
                    parts.append(self.number(scope, 2, kind))
            return parts[0] if value else f"({', '.join(parts)},)" if len(parts) == 1 else f"({', '.join(parts)})"

        call = self.function("MapFunction", "map", {self.pick("row", "r", "value"): records}, result)
        typed = self.chance(0.5 if self.focus else 0.25)
        typed = f", {self.output_type([kind for kind, _, _ in wanted], value)}" if typed else ""
        self.body.append(f"stream = stream.map({call}{typed})")
        made = tuple(Column(name, kind) for kind, _, name in wanted)
        return Records("value" if value else "tuple", made)

    def output_type(self, kinds: list[str], value: bool) -> str:
        fitting = {INT: "LONG", FLOAT: "DOUBLE", BOOL: "BOOLEAN", TEXT: "STRING", OTHER: "PICKLED_BYTE_ARRAY"}
        types = []
        for kind in kinds:
            name = fitting[kind]
            if kind == INT and self.chance(0.35):
                name = self.pick("INT", "INT", "SHORT", "BYTE", "DOUBLE", "BIG_INT")
            elif kind == FLOAT and self.chance(0.2):
                name = self.pick("FLOAT", "FLOAT", "LONG")
            elif self.chance(0.03):
                name = self.pick("STRING", "LONG", "PICKLED_BYTE_ARRAY")
            types.append(f"Types.{name}()")
        if any("LONG" not in t and "DOUBLE" not in t for t in types):
            self.trait("a typed edge")
        return types[0] if value else f"Types.TUPLE([{', '.join(types)}])"

    def keyed(self, stream: str, records: Records) -> str:
        variable = self.pick("row", "r", "value")
        keys = [p for p, c in enumerate(records.columns) if c.name == "k"]
        keys = keys if keys and (self.unique or self.chance(0.7)) else records.places(INT, TEXT, BOOL) or [0]
        first = self.rng.choice(keys)

        def result(scope: _Scope) -> str:
            found = self.access(variable, records, first)
            kind = records.columns[first].kind
            roll = self.rng.random()
            if roll < 0.6 or self.unique or kind not in (INT, FLOAT):
                return found
            if roll < 0.7:
                return f"{found} % 5" if kind == INT else found
            if roll < 0.75:
                return f"{found} > 0"
            if roll < 0.8:
                return f"(-{found} if {found} > 3 else {found})"
            if roll < 0.96:
                return f"({found}, {self.access(variable, records, self.rng.choice(keys))})"
            return self.pick("0", "'all'", "None", "True", "1.0")

        if records.shape != "value" and self.chance(0.06):
            self.trait("an itemgetter")
            self.lines += ["from operator import itemgetter", ""]
            return f"{stream}.key_by(itemgetter({first}))"
        if self.chance(0.2):
            own = self.name("Key")
            scope = _Scope("plain", **{variable: records})
            self.lines += [
                f"class {own}(KeySelector):",
                f"    def get_key(self, {variable}):",
                f"        return {result(scope)}",
                "",
                "",
            ]
            return f"{stream}.key_by({own}())"
        typed = ""
        if self.chance(0.05):
            self.trait("a key type")
            typed = f", {self.pick('Types.LONG()', 'Types.LONG()', 'Types.STRING()', 'Types.INT()', 'Types.DOUBLE()')}"
        return f"{stream}.key_by(lambda {variable}: {result(_Scope('plain'))}{typed})"

    def running(self, keyed: str, records: Records) -> None:
        roll = self.rng.random()
        if roll < 0.45:
            self.body.append(f"stream = {keyed}.reduce({self.reduction(records)})")
        elif roll < 0.88 and records.places(INT, FLOAT):
            self.body.append(f"stream = {keyed}.{self.by_field(records)}")
        elif roll < 0.92:
            self.body.append(f"stream = {keyed}.{self.by_field(records, odd=True)}")
        else:
            self.batches(keyed)

    def by_field(self, records: Records, odd: bool = False) -> str:
        places = records.places(INT, FLOAT) if not odd else list(range(len(records.columns)))
        place = self.rng.choice(places or [0])
        which = self.pick("sum", "min", "max", "min_by", "max_by")
        if records.shape == "value":
            return f"{which}()"
        name = records.columns[place].name
        position = repr(name) if records.shape == "row" and self.chance(0.7) else str(place)
        last = f", {self.pick('True', 'False')}" if which.endswith("by") and self.chance(0.5) else ""
        return f"{which}({position}{last})"

    def reduction(self, records: Records) -> str:
        """Write a ReduceFunction: how each field of two records is made one."""

        def result(scope: _Scope) -> str:
            value = scope.records["b"]
            inner = _Scope(scope.form, b=value)
            inner.attributes, inner.helpers = scope.attributes, scope.helpers
            if records.shape == "value":
                return self.fold("a", inner, value.columns[0].kind, "b")
            parts = [
                self.fold(f"a[{place}]", inner, column.kind, self.access("b", records, place))
                for place, column in enumerate(records.columns)
            ]
            return f"({', '.join(parts)},)"

        if self.chance(0.06):
            return self.pick("lambda a, b: b", "lambda a, b: a", "max", "lambda a, b: a if a[0] > b[0] else b")
        return self.function("ReduceFunction", "reduce", {"a": Records("none", ()), "b": records}, result)

    def fold(self, old: str, scope: _Scope, kind: str, own: str) -> str:
        """Spell how a field of the accumulator is made of what it was and of a record."""
        if kind not in (INT, FLOAT) or self.chance(0.06 if self.focus else 0.12):
            return self.pick(old, own)
        value = own if self.chance(0.55) else self.number(scope, 1, kind)
        roll = self.rng.random()
        if self.focus and kind == FLOAT:
            roll = self.rng.uniform(0.3, 0.9)
        if self.chance(0.02):
            return self.pick(
                f"{old} * 2 + {value}", f"{value} - {old}", f"-{old}", f"{value} if {value} > 0 else {old}"
            )
        if roll < 0.35:
            return self.pick(f"{old} + {value}", f"{old} + {value}", f"{value} + {old}", f"{old} - {value}")
        if roll < 0.75:
            return self.extreme(old, value, self.pick("min", "max"))
        if roll < 0.85:
            return f"{old} + {self.pick('1', '1', '0', '1.0', '-0.0')}"
        return self.pick(old, value)

    def windows(self, keyed: str, records: Records, late: bool) -> None:
        size = self.pick(50, 100, 120, 7, 1000, 200, 300, 1000)
        if self.chance(0.5):
            offset = f", Time.milliseconds({self.pick(3, 30, 49)})" if size >= 50 and self.chance(0.3) else ""
            window = f"TumblingEventTimeWindows.of(Time.milliseconds({size}){offset})"
        else:
            slide = self.pick(30, 50, size, size * 2, size + 17, max(1, size // 3))
            window = f"SlidingEventTimeWindows.of(Time.milliseconds({size}), Time.milliseconds({slide}))"
        text = f"{keyed}.window({window})"
        if self.focus:
            window = f"TumblingEventTimeWindows.of(Time.milliseconds({self.pick(300, 1000, 1000)}))"
            if self.chance(0.3):
                window = (
                    f"SlidingEventTimeWindows.of(Time.milliseconds(1000), Time.milliseconds({self.pick(300, 500)}))"
                )
            text = f"{keyed}.window({window})"
        side = not self.focus and self.chance(0.25)
        if not self.focus and self.chance(0.2):
            text += f".allowed_lateness({self.pick(40, 90, 400)})"
        self.side = side
        if side:
            text += ".side_output_late_data(LATE)"
        roll = self.rng.random()
        if roll < 0.55 or (self.unordered and not self.unique):
            fold = f"aggregate({self.aggregation(records)})"
        elif roll < 0.8:
            fold = f"reduce({self.reduction(records)})"
        elif records.places(INT, FLOAT):
            fold = self.by_field(records)
        else:
            fold = f"aggregate({self.aggregation(records)})"
        if fold.startswith(("aggregate", "reduce")) and self.chance(0.1):
            self.trait("a window function")
            self.lines += [
                "class Framed(ProcessWindowFunction):",
                "    def process(self, key, context, elements):",
                "        for element in elements:",
                "            yield key, context.window().start, element",
                "",
                "",
            ]
            fold = fold[:-1] + ", Framed())"
        self.body.append(f"results = {text}.{fold}")
        if side:
            self.body.append(
                "stream = results.map(lambda v: ('in time', v)).union(results.get_side_output(LATE).map(lambda v: ('late', v)))"
            )
        else:
            self.body.append("stream = results")

    def aggregation(self, records: Records) -> str:
        """Write an AggregateFunction down."""
        own = self.name("Aggregate")
        count = self.pick(1, 2, 2, 3, 4)
        single = count == 1 and self.chance(0.6)
        value, accumulator = self.pick(("value", "accumulator"), ("v", "acc"), ("row", "a"))
        scope = _Scope("class", **{value: records})
        initial, parts = [], []
        for place in range(count):
            old = accumulator if single else f"{accumulator}[{place}]"
            kind = self.pick(FLOAT, FLOAT, INT) if self.focus else self.pick(INT, INT, FLOAT)
            places = records.places(kind) or records.places(INT, FLOAT)
            if self.unordered and not self.unique:
                begin, part = self.in_any_order(records, value, old)
                initial.append(begin)
                parts.append(part)
                continue
            if not places or self.chance(0.1):
                place_of = self.rng.randrange(len(records.columns))
                initial.append(self.pick("None", "''", "0", "0.0"))
                parts.append(self.access(value, records, place_of))
                continue
            field_text = self.access(value, records, self.rng.choice(places))
            part = self.fold(old, scope, kind, field_text)
            begins = {
                INT: ("0", "0", "1 << 40", "-(1 << 40)") if kind == INT else ("0",),
                FLOAT: ("0.0", "0.0", "math.inf", "-math.inf", "1e9", "-1e9", "-0.0"),
            }
            begin = self.rng.choice(begins[kind if self.chance(0.85) else self.pick(INT, FLOAT)])
            initial.append(begin if self.chance(0.95) else self.pick("RATE", "None", "True", "SCALE", "1 << 70"))
            parts.append(part)
        begin_text = initial[0] if single else f"({', '.join(initial)},)"
        added = parts[0] if single else f"({', '.join(parts)},)"
        create, finish = [], []
        if self.hostile and self.chance(0.3):
            self.trait("an attribute that another method changes")
            scope.attributes.setdefault("rate", self.literal(INT))
            line = self.pick(
                "self.rate += 1",
                "self.rate = 11",
                "type(self).rate = 12",
                "self.__dict__['rate'] = 13",
                "setattr(self, 'rate', self.rate + 1)",
                "vars(self).update(rate=14)",
            )
            (create if self.chance(0.4) else finish).append(line)
            old = accumulator if single else f"{accumulator}[0]"
            added = (
                f"{old} + self.rate"
                if single
                else f"({old} + self.rate, {', '.join(parts[1:])})"
                if len(parts) > 1
                else f"({old} + self.rate,)"
            )
        result = accumulator
        if not single and self.chance(0.3):
            result = self.pick(
                f"{accumulator}[0]",
                f"({accumulator}[0], {accumulator}[-1])",
                f"[*{accumulator}]",
                f"str({accumulator})",
            )
        scope.helpers += [
            "def create_accumulator(self):",
            *_indented(create),
            f"    return {begin_text}",
            "",
            f"def get_result(self, {accumulator}):",
            *_indented(finish),
            f"    return {result}",
            "",
            "def merge(self, one, other):",
            "    return one",
            "",
        ]
        body = [f"return {added}"]
        if self.chance(0.15):
            body = [f"if {self.condition(scope, 1)}:", f"    return {added}", f"return {accumulator}"]
            if self.chance(0.5):
                body = [f"local = {added}", "return local"]
        return self.a_class(own, "(AggregateFunction)", "add", f"{value}, {accumulator}", body, scope)

    def in_any_order(self, records: Records, value: str, old: str) -> tuple[str, str]:
        """Draw a fold that gives the same whatever the order of records is: what it begins with, and its step."""
        scope = _Scope(
            "plain",
            **{
                value: Records(
                    records.shape, tuple(replace(c, kind=c.kind if c.kind == INT else OTHER) for c in records.columns)
                )
            },
        )
        own = self.rng.choice(self.fields(scope, INT) or ["1"])
        if self.chance(0.3):
            own = f"({own} {self.pick('+', '-', '*')} {self.literal(INT) if not self.odd_constants else 3})"
        which = self.pick("sum", "min", "max", "count")
        if which == "sum":
            return self.pick("0", "0", "7"), self.pick(f"{old} + {own}", f"{own} + {old}", f"{old} - {own}")
        if which == "count":
            return "0", f"{old} + 1"
        return self.pick("0", "1 << 40", "-(1 << 40)"), self.extreme(old, own, which)

    def batches(self, keyed: str) -> None:
        """Write a function over Arrow batches: it tells of each row which type its columns had, and counts."""
        own = self.name("Seen")
        ttl = self.chance(0.4)
        if ttl:
            self.trait("time to live")
        self.trait("process_batches")
        self.lines += [
            f"class {own}(KeyedBatchFunction):",
            "    def open(self, runtime_context):",
            "        self.seen = ValueStateDescriptor('seen', Types.LONG())",
            *(
                ["        self.seen.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())"]
                if ttl
                else []
            ),
            "",
            "    def process_batch(self, batch, ctx):",
            "        state = ctx.get_state(self.seen)",
            "        for key, row in zip(ctx.keys.to_pylist(), pa.table(batch).to_pylist()):",
            "            keys = pa.array([key], ctx.keys.type)",
            "            count = (state.get_all(keys).to_pylist()[0] or 0) + 1",
            "            state.update_all(keys, pa.array([count]))",
            "            types = str(list(zip(batch.schema.names, batch.schema.types)))",
            "            yield pa.record_batch([[f'{types} {key!r} {count} {row!r}']], names=['seen'])",
            "",
            "",
        ]
        self.body.append(f"stream = {keyed}.process_batches({own}(), Types.STRING())")

    # --- tables ---

    def tables(self, schema: pa.Schema) -> list[pa.Table]:
        rng = self.rng
        odd_program = self.chance(0.6)
        odds = {f.name: self.column_oddity(f) if odd_program and self.chance(0.45) else "plain" for f in schema}
        if self.focus:
            odds["f"] = self.pick("nan", "nan", "negative zero", "negative zero", "extremes", "plain")
        made = []
        large = not self.unique and (
            self.focus or rng.random() < 0.5
        )  # so many records of a key that it is worthwhile to fold them early
        keys = rng.choice([0, 1, 2, 6])
        for epoch in range(rng.randint(2, 5)):
            count = rng.choice([0, 1, 3, 12, 40]) if rng.random() < 0.5 else rng.randint(1, 40)
            count *= 4 if large else 1
            columns = []
            for each in schema:
                if each.name == "k":
                    values = (
                        rng.sample(range(60), count) if self.unique else [rng.randint(0, keys) for _ in range(count)]
                    )
                    if odds["k"] == "nulls":
                        values = [None if rng.random() < 0.05 else v for v in values]
                elif each.name == "t":
                    values = [epoch * 150 - 200 + rng.randint(-120, 200) for _ in range(count)]
                else:
                    odd = odds[each.name] if rng.random() < 0.5 else "plain"
                    values = self.column_values(_kind(each.type), count, odd)
                columns.append(pa.array(values, each.type))
            made.append(pa.table(columns, schema=schema))
        return made

    def column_oddity(self, each: pa.Field) -> str:
        kind = _KINDS.get(_kind(each.type))
        if kind == FLOAT:
            return self.pick("nan", "negative zero", "extremes", "wide", "negative zero", "nan", "one null")
        if kind == INT:
            return self.pick("extremes", "wide", "beyond", "one null", "small")
        return self.pick("nulls", "plain")

    def column_values(self, kind: str, count: int, odd: str) -> list:  # type: ignore[type-arg]
        rng = self.rng
        if odd == "beyond" and kind == "int64":
            return [
                rng.choice([(1 << 53) + 1, -(1 << 53) - 1, (1 << 31), -(1 << 31) - 1, (1 << 62) + 1, 3])
                for _ in range(count)
            ]
        if odd == "one null":
            made = values_of(kind, count, "plain", rng)
            if made and rng.random() < 0.4:
                made[rng.randrange(count)] = None
            return made
        if odd == "small" and kind.startswith("int"):
            return [rng.randint(0, 2) for _ in range(count)]
        return values_of(
            kind, count, odd if odd in ("nulls", "extremes", "nan", "negative zero", "wide") else "plain", rng
        )


def _indented(lines: list[str], times: int = 1) -> list[str]:
    return [("    " * times + line) if line else line for line in lines]


def _kind(type_: pa.DataType) -> str:
    return next((name for name, known in TYPES.items() if known == type_), "")

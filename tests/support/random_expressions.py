"""Expressions of programs drawn at random: those that run by columns, and those that only look as if they could."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

INT, FLOAT, BOOL, TEXT, OTHER = "int", "float", "bool", "text", "other"


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


class Scope:
    """What an expression may use: records by the name of their variable, and how it comes by constants."""

    def __init__(self, form: str, **records: Records) -> None:
        self.form = form
        self.records = records
        self.variables: list[tuple[str, str]] = []  # local ones, and their kinds
        self.attributes: dict[str, str] = {}  # of self, or of a closure, or defaults: name and literal
        self.helpers: list[str] = []  # methods of the class


class Expressions:
    """Draw expressions, and what they need around them.

    Attributes:
        lines: The text of the module, before ``build``.
        body: The text of ``build``.
        after: What stands at its end.
        traits: What is odd about the program, in words.
    """

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

    def pick(self, *choices: Any) -> Any:
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

    def fields(self, scope: Scope, *kinds: str) -> list[str]:
        found = [self.access(v, r, p) for v, r in scope.records.items() for p in r.places(*kinds)]
        return found + [name for name, kind in scope.variables if kind in kinds]

    def constant(self, scope: Scope, kind: str) -> str:
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

    def number(self, scope: Scope, depth: int, kind: str) -> str:
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

    def divisor(self, scope: Scope, depth: int, kind: str) -> str:
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

    def condition(self, scope: Scope, depth: int) -> str:
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

    def helped(self, scope: Scope, depth: int, kind: str) -> str:
        """Call a helper: a function of the module, a method, a static method."""
        inner = Scope("plain")
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

    def odd_expression(self, scope: Scope, kind: str) -> str | None:
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


def indented(lines: list[str], times: int = 1) -> list[str]:
    return [("    " * times + line) if line else line for line in lines]

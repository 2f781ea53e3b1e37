"""Functions of programs drawn at random, in the ways in which they are written down: lambdas, classes, closures."""

from __future__ import annotations

from collections.abc import Callable

from support.random_expressions import FLOAT, INT, Expressions, Records, Scope, indented

Result = Callable[[Scope], str]
"""Draws what a function returns."""


class Functions(Expressions):
    """Write functions."""

    def function(
        self, base: str, method: str, records: dict[str, Records], result: Result, wrapped: str | None = None
    ) -> str:
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
        scope = Scope(kind, **records)
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
            self.lines += [f"def {own}({parameters}):", *indented(body), "", ""]
            return own
        if form == "defaults":
            given = "".join(f", {name}={literal}" for name, literal in scope.attributes.items())
            self.lines += [f"def {own}({parameters}{given}):", *indented(body), "", ""]
            return own
        if form == "closure":
            outer = ", ".join(scope.attributes)
            self.lines += [
                f"def make_{own}({outer}):",
                f"    def {own}({parameters}):",
                *indented(body, 2),
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
                *indented(body, 2),
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
                *indented(body),
                "",
                "",
            ]
            self.trait("a decorator")
            return own
        if form == "partial":
            self.trait("a partial")
            self.lines += [f"def {own}(extra, {parameters}):", *indented(body), "", ""]
            return f"functools.partial({own}, 5)"
        if form == "unbound":
            self.trait("an aliased method")
            self.lines += [
                f"class Holder_{own}:",
                f"    def {own}({parameters}):",
                *indented(body, 2),
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

    def statements(self, scope: Scope, result: Result) -> list[str]:
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

    def a_class(self, own: str, extends: str, method: str, parameters: str, body: list[str], scope: Scope) -> str:
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
        written += [*indented(scope.helpers), f"    def {method}(self, {parameters}):", *indented(body, 2), ""]
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

    def odd_members(self, scope: Scope) -> list[str]:
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
        return indented(lines)

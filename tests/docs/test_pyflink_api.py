"""docs/pyflink-api.md against the code: what it ticks is there, what it does not is refused, and nothing is missing.

A row of the page's tables is a name, with the parameters that PyFlink has, and what Rekindle has of it: *there*,
*differs* and how, or *not* and why. A name that is added to the public API must be added to the page.
"""

from __future__ import annotations

import ast
import enum
import importlib
import inspect
import re
import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rekindle.common import JobClient
from rekindle.datastream import RuntimeContext, Trigger
from rekindle.exceptions import InvalidProgramError
from rekindle.runtime.master.client import LocalJobClient
from rekindle.runtime.operators.runtime_context import SlotRuntimeContext
from rekindle.runtime.operators.windows.window_contexts import WindowTriggerContext

PAGE = Path(__file__).parents[2] / "docs" / "pyflink-api.md"
PUBLIC = (
    "rekindle.common",
    "rekindle.common.accumulators",
    "rekindle.common.watermark_generator",
    "rekindle.datastream",
    "rekindle.datastream.connectors",
    "rekindle.datastream.connectors.datagen",
    "rekindle.datastream.connectors.file_system",
    "rekindle.datastream.connectors.tables",
    "rekindle.datastream.connectors.jdbc",
    "rekindle.datastream.formats.json",
    "rekindle.datastream.functions",
    "rekindle.datastream.operators",
    "rekindle.datastream.state",
    "rekindle.datastream.window",
    "rekindle.metrics",
)
OWNERS = (
    "rekindle.base.",
    "rekindle.checkpoint.settings.",
    "rekindle.common.",
    "rekindle.config.",
    "rekindle.connectors.",
    "rekindle.contracts.",
    "rekindle.datastream.",
    "rekindle.formats.",
    "rekindle.metrics.",
    "rekindle.types.",
)
IMPLEMENTATIONS: dict[type, type] = {
    JobClient: LocalJobClient,
    RuntimeContext: SlotRuntimeContext,
    Trigger.TriggerContext: WindowTriggerContext,
}


@dataclass(frozen=True)
class Row:
    """A row of a table; ``signature`` is None where the name has no parameters to compare."""

    module: str
    name: str
    signature: str | None
    status: str

    @property
    def missing(self) -> bool:
        return self.status.startswith("not:")

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"


def _rows() -> Iterator[Row]:
    module = ""
    for line in PAGE.read_text().splitlines():
        heading = re.fullmatch(r"### `([\w.]+)`", line)
        if heading:
            module = heading[1]
        elif line.startswith("#"):
            module = ""
        row = re.fullmatch(r"\| `([\w.]+)(\(.*\))?` \| (.*) \|", line)
        if row and module:
            yield Row(module, row[1], row[2], row[3])


ROWS = list(_rows())
NAMES = {row.name for row in ROWS}


def resolve(row: Row) -> Any:
    """Return what a row names, or None."""
    try:
        found = importlib.import_module(row.module)
    except ImportError:
        return None
    for part in row.name.split("."):
        owner = IMPLEMENTATIONS.get(found, found) if row.signature and isinstance(found, type) else found  # type: ignore[arg-type]
        if not hasattr(owner, part):
            return None
        found = getattr(owner, part)
    return found


def refused(thing: Any) -> bool:
    """Return whether something only says that it is not there."""
    function = thing.__init__ if inspect.isclass(thing) else thing
    if not inspect.isfunction(function) or not _only_raises(function):
        return False
    needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    try:
        function(*(None for p in needed if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)))
    except (NotImplementedError, InvalidProgramError):
        return True
    except Exception:
        return False
    raise AssertionError(f"{thing} did not raise")


def _only_raises(function: Any) -> bool:
    try:
        (parsed,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    except OSError:  # such as the constructor of a dataclass
        return False
    assert isinstance(parsed, ast.FunctionDef | ast.AsyncFunctionDef)
    body = parsed.body[1:] if ast.get_docstring(parsed) is not None else parsed.body
    return len(body) == 1 and isinstance(body[0], ast.Raise)


def parameters(signature: str) -> list[tuple[str, bool]]:
    """Return the names of parameters and whether they have defaults, stars included."""
    arguments = ast.parse(f"def f{signature}: pass").body[0].args  # type: ignore[attr-defined]
    without = len(arguments.args) - len(arguments.defaults)
    found = [(argument.arg, index >= without) for index, argument in enumerate(arguments.args)]
    if arguments.vararg:
        found.append((f"*{arguments.vararg.arg}", False))
    found += [
        (argument.arg, default is not None)
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    return [*found, (f"**{arguments.kwarg.arg}", False)] if arguments.kwarg else found


def own_parameters(thing: Any) -> list[tuple[str, bool]]:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    found = [
        (stars.get(parameter.kind, "") + name, parameter.default is not parameter.empty)
        for name, parameter in inspect.signature(thing).parameters.items()
    ]
    return found[1:] if found and found[0][0] == "self" else found


def takes(thing: Any, signature: str) -> bool:
    """Return whether something can be called as a signature says: more parameters, with defaults, are fine."""
    own, wanted = own_parameters(thing), parameters(signature)
    if {"*args", "**kwargs"} <= {name for name, _ in own}:
        return True  # such as the methods that raise on a keyed stream, as in PyFlink
    stars = next((index for index, (name, _) in enumerate(own) if name.startswith("*")), len(own))
    if stars < len(wanted) and not wanted[stars][0].startswith("*"):
        wanted = wanted[:stars]  # what follows goes into the stars
    if [name for name, _ in own[: len(wanted)]] != [name for name, _ in wanted]:
        return False
    if any(default and not has for (_, default), (_, has) in zip(wanted, own, strict=False)):
        return False
    return all(default or name.startswith("*") for name, default in own[len(wanted) :])


def test_the_page_has_rows_and_each_says_what_there_is() -> None:
    assert len(ROWS) > 1_000
    statuses = Counter(re.split(r"[:;]", row.status)[0] for row in ROWS)
    assert statuses["there"] > 900
    twice = [row for row, count in Counter((row.module, row.name) for row in ROWS).items() if count > 1]
    assert twice == []


@pytest.mark.parametrize("row", [row for row in ROWS if not row.missing], ids=str)
def test_what_is_ticked_is_there_and_takes_pyflinks_parameters(row: Row) -> None:
    thing = resolve(row)
    assert thing is not None, "it is not there"
    if row.signature is not None:
        assert not refused(thing), "it only raises"
        other = re.search(rf"`{row.name.rpartition('.')[2]}(\(.*?\))`", row.status)
        signature = other[1] if other and row.status.startswith("differs") else row.signature
        assert takes(thing, signature), f"it takes {inspect.signature(thing)}"


def defaults(signature: str) -> dict[str, str]:
    """Return the defaults of parameters, as they are written."""
    arguments = ast.parse(f"def f{signature}: pass").body[0].args  # type: ignore[attr-defined]
    named = arguments.args[len(arguments.args) - len(arguments.defaults) :]
    pairs = [
        *zip(named, arguments.defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    return {argument.arg: ast.unparse(default) for argument, default in pairs if default is not None}


WITH_DEFAULTS = [row for row in ROWS if row.status.startswith("there") and defaults(row.signature or "()")]


@pytest.mark.parametrize("row", WITH_DEFAULTS, ids=str)
def test_what_is_there_has_pyflinks_defaults(row: Row) -> None:
    own = inspect.signature(resolve(row)).parameters
    wanted = defaults(row.signature or "()")
    assert {name: _as_written(own[name].default, default) for name, default in wanted.items()} == wanted


def _as_written(value: Any, default: str) -> str:
    """Return a default as the page writes it: by its representation, or, as members of enums, by its name."""
    return str(value) if str(value) == default else repr(value)


@pytest.mark.parametrize("row", [row for row in ROWS if row.missing], ids=str)
def test_what_is_not_ticked_is_absent_or_refused_and_the_page_says_why(row: Row) -> None:
    assert len(row.status) > len("not: ")
    thing = resolve(row)
    assert thing is None or refused(thing), "it is there: tick it"


def _public() -> Iterator[str]:
    """Name every public class, method and constant, unless one of its bases has it on the page."""
    classes: dict[type, str] = {}
    for module in PUBLIC:
        package = importlib.import_module(module)
        for name in package.__all__:
            thing = getattr(package, name)
            if inspect.isclass(thing):
                classes[thing] = thing.__qualname__
            else:
                yield name
    todo = list(classes)
    while todo:
        cls = todo.pop()
        yield cls.__qualname__
        for name in dir(cls):
            owner = next((base for base in cls.__mro__ if name in vars(base)), None)
            if name.startswith("_") or owner is None or not _counts(owner, classes):
                continue
            value = getattr(cls, name)
            if not (callable(value) or name.isupper() or isinstance(value, enum.Enum)) or name == "packed_type":
                continue
            if inspect.isclass(value) and value.__qualname__.startswith(f"{cls.__qualname__}."):
                todo.append(value)
            documented = (f"{base.__qualname__}.{name}" for base in cls.__mro__)
            yield next((entry for entry in documented if entry in NAMES), f"{cls.__qualname__}.{name}")


def _counts(owner: type, classes: dict[type, str]) -> bool:
    """Return whether what a class defines is public: other packages have names of their own in their base classes."""
    return owner in classes or owner.__module__.startswith(OWNERS)


def test_every_public_name_is_on_the_page() -> None:
    missing = sorted(set(_public()) - NAMES)
    assert missing == [], f"add to docs/pyflink-api.md: {missing}"

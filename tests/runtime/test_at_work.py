"""Loops that call user code say what they are at: each of them, or one around it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rekindle
from rekindle.connectors.files.row_encoding import chunk_encoding
from rekindle.formats.schemas import Encoder
from rekindle.runtime.at_work import at_record, at_timer
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.sinks import PrintOperator
from rekindle.runtime.slot.failed_record import FailedRecord, failed_record
from rekindle.testing import OperatorHarness

PACKAGE = Path(rekindle.__file__).parent
ROOMS = ("runtime/operators", "runtime/exchange", "connectors")
DECORATORS = {"at_record", "at_timer"}

# Attributes, variables and parameters that hold user code, or something of it.
# fmt: off
USER_CODE = {
    "function", "_function", "call", "_call", "choose", "key_selector", "_select", "_headers", "_assigner", "assigner",
    "trigger", "evictor", "_evictor", "timestamp_assigner", "on_event", "on_time", "react", "deserialize",
    "format_value",
}
# fmt: on

WITHOUT_RECORD = {
    "runtime/operators/async_io/async_requests.py": {
        "_work": "an error is kept with its element, and raise_for raises it",
        "_expire": "as in _work",
    },
    "runtime/operators/broadcast.py": {"apply_to_keyed_state": "called at a record, by process_second"},
    "runtime/operators/committing/transaction_writer.py": {
        "commit": "goes through transactions",
        "abort_leftovers": "goes through transactions",
    },
    "runtime/operators/keyed.py": {"check_samples": "asks Rekindle's own functions, before any record is processed"},
    "runtime/operators/keyed_batches.py": {"_process": "the function is called with batches"},
    "runtime/operators/windows/co_group.py": {"group_call": "called at a timer"},
    "runtime/operators/windows/window_contents.py": {"_seen": "called at a record or a timer"},
    "runtime/operators/windows/window_operator.py": {
        "_add": "called at a record, by _process",
        "_add_merging": "called at a record, by _process",
        "_merge": "called at a record, by _process",
    },
}


def functions_of(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse(path.read_text())
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def names_in(node: ast.AST) -> set[str]:
    attributes = {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}
    return attributes | {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def assigned_from_user_code(function: ast.AST) -> Iterator[str]:
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            pairs: Any = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = zip(target.elts, node.value.elts, strict=True)
            yield from (one.id for one, value in pairs if isinstance(one, ast.Name) and names_in(value) & USER_CODE)


def calls_user_code_in_a_loop(function: ast.AST) -> bool:
    known = USER_CODE | set(assigned_from_user_code(function))
    loops = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
    calls = (
        call
        for loop in ast.walk(function)
        if isinstance(loop, loops)
        for call in ast.walk(loop)
        if isinstance(call, ast.Call)
    )
    return any(names_in(call.func) & known for call in calls)


def is_declared(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(names_in(decorator) & DECORATORS for decorator in function.decorator_list)


def undeclared() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for room in ROOMS:
        for path in sorted((PACKAGE / room).rglob("*.py")):
            for function in functions_of(path):
                inner = any(is_declared(each) for each in ast.walk(function) if isinstance(each, ast.FunctionDef))
                if not inner and calls_user_code_in_a_loop(function):
                    found.setdefault(path.relative_to(PACKAGE).as_posix(), set()).add(function.name)
    return found


def test_every_loop_that_calls_user_code_says_what_it_is_at() -> None:
    assert undeclared() == {path: set(functions) for path, functions in WITHOUT_RECORD.items()}


def test_a_variable_that_a_function_does_not_have_is_refused() -> None:
    def loop(values: list[int]) -> None:
        for value in values:
            print(value)

    with pytest.raises(TypeError, match=r"loop has no variable for record$"):
        at_record("record")(loop)
    with pytest.raises(TypeError, match=r"loop has no variable for due, self\.backend\.key$"):
        at_timer("due", key="self.backend.key")(loop)


def test_a_function_stays_what_it_is() -> None:
    def loop(value: int) -> None:
        print(value)

    assert at_record("value")(loop) is loop


def raised_by(loop: Any, *given: Any) -> FailedRecord | None:
    with pytest.raises(ZeroDivisionError) as caught:
        loop(*given)
    return failed_record(caught.value)


def test_only_what_is_declared_is_looked_at() -> None:
    def loop(values: list[int]) -> None:
        for value in values:
            value / 0

    assert raised_by(loop, [5]) is None
    found = raised_by(at_record("value")(loop), [5])
    assert found is not None
    assert found.text == "record 5"


def test_the_outermost_loop_that_has_come_to_a_record_counts() -> None:
    @at_record("value")
    def inner(values: list[int]) -> None:
        for value in values:
            value / 0

    @at_record("value", timestamp="stamp")
    def outer(values: list[int], begun: bool) -> None:
        if not begun:
            inner([2])
        for value, stamp in zip(values, [7], strict=True):  # noqa: B007 (the decorator names it)
            inner([value + 1])

    for begun, text, timestamp in ((True, "record 1", 7), (False, "record 2", None)):
        found = raised_by(outer, [1], begun)
        assert found is not None
        assert (found.text, found.work.timestamp) == (text, timestamp)


class Unprintable:
    def __repr__(self) -> str:
        return str(1 / 0)


def test_a_record_that_cannot_be_printed_is_known() -> None:
    harness = OperatorHarness(PrintOperator(None, None))
    record = Unprintable()
    with pytest.raises(ZeroDivisionError) as caught:
        harness.operator.process(Chunk(["fine", record, "fine"]))
    found = failed_record(caught.value)
    assert found is not None
    assert found.work.value is record


class Divides(Encoder):
    def encode(self, value: int) -> bytes:
        return str(1 // value).encode()


def test_a_record_that_an_encoder_fails_on_is_known() -> None:
    found = raised_by(chunk_encoding(Divides(), None), [1, 0, 2])
    assert found is not None
    assert found.text == "record 0"

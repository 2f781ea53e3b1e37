"""What is told of an error: always something that can be sent, never more than people read."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.contracts.functions.function_adapters import as_map_function
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.exceptions import UserCodeError
from rekindle.graph.job_graph import JobNode
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.master.restarts.failures import slot_error
from rekindle.runtime.operators.stateless import MapOperator
from rekindle.runtime.slot.failure import OperatorError, blaming, describe_failure, explain
from rekindle.runtime.wire import messages as m
from support.in_process_job import InProcessJob, collect

NODE = JobNode(0, "u", "Map", None, 1, 128, False, 0, False)


def blamed(error: BaseException) -> OperatorError:
    """Raise an error in a function of the user's."""
    blame = OperatorError(NODE)
    try:
        raise error
    except BaseException as raised:
        blame.__cause__ = raised
    return blame


def told(error: BaseException) -> m.SlotFailed:
    """Send what is told of an error, as a slot does."""
    failure = describe_failure(blamed(error), 0)
    received = m.decode_to_master(m.encode(failure))
    assert received == failure
    return failure


class BadStrError(Exception):
    def __str__(self) -> str:
        raise SystemExit("not even this")


class BadReprError(Exception):
    def __repr__(self) -> str:
        raise ValueError("no")


class FalsyError(Exception):
    def __len__(self) -> int:
        return 0


class BadBoolError(Exception):
    def __bool__(self) -> bool:
        raise ValueError("neither")


class BadNotesError(TypeError):
    @property
    def __notes__(self) -> list[str]:  # type: ignore[override]
        raise KeyError("no notes")


def deep_chain(length: int) -> BaseException:
    error: BaseException = ValueError("the first of all")
    for number in range(length):
        try:
            raise ValueError(f"number {number}") from error
        except ValueError as raised:
            error = raised
    return error


def nested_groups(depth: int) -> BaseException:
    error: Exception = ValueError("innermost")
    for number in range(depth):
        error = ExceptionGroup(f"level {number}", [error, ValueError("beside")])
    return error


ODD_ERRORS: dict[str, tuple[Callable[[], BaseException], str]] = {
    "str raises": (BadStrError, "BadStrError: <exception str() failed>"),
    "repr raises": (BadReprError, "BadReprError"),
    "falsy": (lambda: FalsyError("x"), "FalsyError: x"),
    "bool raises": (lambda: BadBoolError("x"), "BadBoolError"),
    "notes raise": (lambda: BadNotesError("x"), "BadNotesError"),
    "surrogate": (lambda: ValueError("\udc80 half a character"), r"ValueError: \udc80 half a character"),
    "controls": (lambda: ValueError("a\0b\x1b[31m"), "ValueError: a"),
    "no text": (lambda: ValueError(object), "ValueError: <class 'object'>"),
    "bytes": (lambda: UnicodeDecodeError("utf-8", b"\xff" * 1_000_000, 0, 1, "invalid"), "UnicodeDecodeError"),
    "syntax": (lambda: SyntaxError("bad", ("x.py", 1, 1, "y" * 100_000)), "SyntaxError: bad"),
    "group": (lambda: ExceptionGroup("two", [ValueError(), TypeError()]), "ExceptionGroup: two (2 sub-exceptions)"),
    "deep groups": (lambda: nested_groups(50), "ExceptionGroup: level 49"),
    "large group": (lambda: ExceptionGroup("many", [ValueError(i) for i in range(5_000)]), "ExceptionGroup: many"),
    "chain": (lambda: deep_chain(5_000), "ValueError: number 4999"),
    "huge": (lambda: KeyError("x" * 10_000_000), "KeyError"),
}


@pytest.mark.parametrize("name", ODD_ERRORS)
def test_every_error_can_be_told_in_few_words(name: str) -> None:
    error, words = ODD_ERRORS[name]
    failure = told(error())
    assert words in failure.summary
    assert len(failure.summary) < 2_200
    assert len(failure.traceback) < 21_000
    assert failure.operator == "Map"


def test_of_a_huge_message_beginning_and_end_are_told_and_how_much_was_cut() -> None:
    message = "first " + "x" * 50_000_000 + " last"
    failure = told(ValueError(message))
    for text in (failure.summary, failure.traceback):
        assert "first xxx" in text
        assert "xxx last" in text
        assert "characters cut" in text
    whole = explain(failure)
    assert len(whole) < 25_000
    cut = int(failure.summary.partition("… (")[2].partition(" ")[0].replace(",", ""))
    assert cut == len("ValueError: " + message) - 2_000


def test_a_message_of_many_lines_is_cut_too() -> None:
    failure = told(ValueError("line\n" * 1_000_000))
    assert len(failure.summary) < 2_200
    assert len(failure.traceback) < 21_000


def test_of_a_long_chain_of_causes_the_last_ones_are_told() -> None:
    failure = told(deep_chain(500))
    assert "number 499" in failure.traceback
    assert "errors that led to this one were cut" in failure.traceback
    assert "the first of all" not in failure.traceback


def test_a_chain_that_bites_its_tail_is_told() -> None:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    assert "first" in told(first).summary


def test_a_record_whose_repr_raises_is_survived() -> None:
    class Odd:
        def __repr__(self) -> str:
            raise KeyboardInterrupt

        def __eq__(self, other: object) -> bool:
            raise ValueError("compared")

        __hash__ = object.__hash__

    failure = describe_failure(failure_at(Odd()), 0)
    assert failure.record == "record <a value of class Odd whose repr() raises KeyboardInterrupt>"
    assert m.encode(failure)


@given(
    st.recursive(
        st.none() | st.integers() | st.floats() | st.text() | st.binary() | st.characters(categories=["Cs"]),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
        max_leaves=30,
    )
)
def test_any_record_can_be_told(value: Any) -> None:
    with pytest.raises(OperatorError) as caught, blaming(NODE):
        MapOperator(as_map_function(_refuse)).process(Chunk([value]))
    failure = describe_failure(caught.value, 0)
    assert failure.record.startswith("record ")
    assert len(failure.record) < 300
    assert m.decode_to_master(m.encode(failure)) == failure


def test_a_large_record_is_shown_in_part() -> None:
    for value in ("x" * 10_000_000, b"x" * 10_000_000, list(range(1_000_000)), 10**10_000):
        assert len(describe_failure(failure_at(value), 0).record) < 300


def failure_at(value: Any) -> OperatorError:
    env = StreamExecutionEnvironment.get_execution_environment()
    collect(env.from_collection([1]).map(lambda _: value).map(_refuse))
    with InProcessJob(env) as job, pytest.raises(OperatorError) as caught:
        job.run_to_end()
    return caught.value


def _refuse(value: Any) -> Any:
    raise ValueError("no")


# --- which failures are the same ---


def identity_of(numbers: list[Any], function: Callable[[Any], Any]) -> str:
    env = StreamExecutionEnvironment.get_execution_environment()
    collect(env.from_collection(numbers).map(function).uid("m"))
    with InProcessJob(env) as job, pytest.raises(OperatorError) as caught:
        job.run_to_end()
    return describe_failure(caught.value, 0).identity


def _divide(value: Any) -> float:
    return 1 / value


def _divide_elsewhere(value: Any) -> float:
    return 1 / value


class Anything:
    def __rtruediv__(self, other: Any) -> Any:
        raise ZeroDivisionError(time.monotonic_ns())


def test_the_same_failure_has_the_same_identity_wherever_its_record_stands() -> None:
    assert identity_of([1, 0], _divide) == identity_of([5, 4, 3, 0], _divide)


def test_a_failure_with_another_message_or_at_another_address_is_the_same() -> None:
    assert identity_of([Anything()], _divide) == identity_of([1, Anything()], _divide)


def test_another_record_line_or_kind_of_error_is_another_failure() -> None:
    known = {
        identity_of([0], _divide),
        identity_of([0.0], _divide),
        identity_of(["x"], _divide),
        identity_of([0], _divide_elsewhere),
    }
    assert len(known) == 4


def test_where_records_are_not_shown_their_failures_are_told_apart_all_the_same() -> None:
    shown, hidden = (describe_failure(failure_at("secret"), 0, show) for show in (True, False))
    assert shown.record == "record 'secret'"
    assert hidden.record == ""
    assert "secret" not in explain(hidden)
    assert shown.identity == hidden.identity


def test_the_job_master_knows_record_and_identity() -> None:
    error = slot_error(describe_failure(failure_at(3), 1))
    assert isinstance(error, UserCodeError)
    assert error.record == "record 3"
    assert error.identity
    assert "subtask 1, at record 3; the traceback there was:" in str(error)

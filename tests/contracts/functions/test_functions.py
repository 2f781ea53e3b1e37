"""The function interfaces: what is abstract, what has a default, what the module exports."""

from __future__ import annotations

import inspect

import pytest

from rekindle.datastream import functions
from rekindle.datastream.functions import (
    AsyncFunction,
    CheckpointedFunction,
    CheckpointListener,
    Function,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    NullByteKeySelector,
    PassThroughAllWindowFunction,
    PassThroughWindowFunction,
    ProcessWindowFunction,
    SinkFunction,
)

PYFLINK_NAMES = {
    "RuntimeContext", "MapFunction", "CoMapFunction", "FlatMapFunction", "CoFlatMapFunction",
    "ReduceFunction", "AggregateFunction", "KeySelector", "FilterFunction", "Partitioner", "SourceFunction",
    "SinkFunction", "ProcessFunction", "CoProcessFunction", "KeyedProcessFunction", "KeyedCoProcessFunction",
    "TimerService", "WindowFunction", "AllWindowFunction", "ProcessWindowFunction",
    "ProcessAllWindowFunction",
    "BaseBroadcastProcessFunction", "BroadcastProcessFunction", "KeyedBroadcastProcessFunction",
    "AsyncFunction", "AsyncFunctionDescriptor", "AsyncRetryPredicate", "AsyncRetryStrategy",
    "KeyedStateStore", "Function", "NullByteKeySelector", "PassThroughWindowFunction",
    "PassThroughAllWindowFunction",
}  # fmt: skip

ABSTRACT_METHODS = {
    "MapFunction": {"map"},
    "FlatMapFunction": {"flat_map"},
    "FilterFunction": {"filter"},
    "ReduceFunction": {"reduce"},
    "FoldFunction": {"fold"},
    "AggregateFunction": {"create_accumulator", "add", "get_result", "merge"},
    "KeySelector": {"get_key"},
    "Partitioner": {"partition"},
    "ProcessFunction": {"process_element"},
    "KeyedProcessFunction": {"process_element"},
    "CoMapFunction": {"map1", "map2"},
    "CoFlatMapFunction": {"flat_map1", "flat_map2"},
    "CoProcessFunction": {"process_element1", "process_element2"},
    "KeyedCoProcessFunction": {"process_element1", "process_element2"},
    "BroadcastProcessFunction": {"process_element", "process_broadcast_element"},
    "KeyedBroadcastProcessFunction": {"process_element", "process_broadcast_element"},
    "WindowFunction": {"apply"},
    "AllWindowFunction": {"apply"},
    "ProcessWindowFunction": {"process"},
    "ProcessAllWindowFunction": {"process"},
    "AsyncFunction": {"async_invoke"},
    "SourceFunction": {"run", "cancel"},
    "SinkFunction": {"invoke"},
    "CheckpointedFunction": {"initialize_state", "snapshot_state"},
    "ListCheckpointed": {"snapshot_state", "restore_state"},
    "CheckpointListener": set(),
    "Function": set(),
}


def test_every_name_of_pyflinks_module_is_exported() -> None:
    assert set(functions.__all__) >= PYFLINK_NAMES
    assert all(hasattr(functions, name) for name in functions.__all__)


@pytest.mark.parametrize(("name", "methods"), ABSTRACT_METHODS.items())
def test_a_function_must_implement_exactly_its_core_methods(name: str, methods: set[str]) -> None:
    assert getattr(functions, name).__abstractmethods__ == methods


@pytest.mark.parametrize("name", functions.__all__)
def test_every_exported_class_and_its_public_methods_have_docstrings(name: str) -> None:
    exported = getattr(functions, name)
    assert exported.__doc__
    for attribute, value in vars(exported).items():
        if not attribute.startswith("_") and (inspect.isfunction(value) or inspect.isclass(value)):
            assert value.__doc__, f"{name}.{attribute}"


def test_open_and_close_do_nothing_by_default() -> None:
    class Double(MapFunction):
        def map(self, value: int) -> int:
            return value * 2

    function = Double()
    function.open(None)  # type: ignore[arg-type]
    assert function.map(21) == 42
    function.close()
    assert vars(function) == {}


def test_an_incomplete_function_cannot_be_instantiated() -> None:
    with pytest.raises(TypeError, match="invoke"):
        SinkFunction()  # type: ignore[abstract]


def test_on_timer_is_optional() -> None:
    class Count(KeyedProcessFunction):
        def process_element(self, value: object, ctx: KeyedProcessFunction.Context) -> None:
            return None

    class Rules(KeyedBroadcastProcessFunction[str, int, int, int]):
        def process_element(self, value: int, ctx: object) -> None:
            return None

        def process_broadcast_element(self, value: int, ctx: object) -> None:
            return None

    assert Count().on_timer(1, None) is None  # type: ignore[arg-type]
    assert Rules().on_timer(1, None) is None  # type: ignore[arg-type]


def test_window_clear_is_optional() -> None:
    class Total(ProcessWindowFunction[int, int, str, object]):
        def process(self, key: str, context: object, elements: object) -> list[int]:
            return [1]

    assert Total().clear(None) is None  # type: ignore[arg-type,func-returns-value]


def test_on_timer_contexts_extend_the_element_contexts() -> None:
    for owner in (functions.KeyedProcessFunction, functions.KeyedCoProcessFunction):
        assert issubclass(owner.OnTimerContext, owner.Context)
        assert "time_domain" in owner.OnTimerContext.__abstractmethods__
        assert "time_domain" not in owner.Context.__abstractmethods__
    keyed = functions.KeyedBroadcastProcessFunction
    assert issubclass(keyed.OnTimerContext, keyed.ReadOnlyContext)
    assert issubclass(keyed.Context, functions.BaseBroadcastProcessFunction.Context)


def test_only_the_keyed_broadcast_side_can_visit_keyed_state() -> None:
    assert "apply_to_keyed_state" in KeyedBroadcastProcessFunction.Context.__abstractmethods__
    assert not hasattr(functions.BroadcastProcessFunction.Context, "apply_to_keyed_state")
    assert not hasattr(KeyedBroadcastProcessFunction.ReadOnlyContext, "apply_to_keyed_state")


def test_checkpoint_interfaces_mix_into_functions() -> None:
    class Buffering(SinkFunction, CheckpointedFunction, CheckpointListener):
        def __init__(self) -> None:
            self.buffer: list[object] = []

        def invoke(self, value: object, context: SinkFunction.Context) -> None:
            self.buffer.append(value)

        def initialize_state(self, context: object) -> None:
            self.buffer = []

        def snapshot_state(self, context: object) -> None:
            pass

    sink = Buffering()
    sink.invoke("a", None)  # type: ignore[arg-type]
    sink.notify_checkpoint_complete(1)
    sink.notify_checkpoint_aborted(2)
    assert sink.buffer == ["a"]
    assert isinstance(sink, Function)


def test_null_byte_key_selector_gives_every_element_the_same_key() -> None:
    selector = NullByteKeySelector()
    assert {selector.get_key(value) for value in ("a", None, 3)} == {0}


def test_pass_through_window_functions_emit_their_elements() -> None:
    assert list(PassThroughWindowFunction[int, str, None]().apply("k", None, [1, 2])) == [1, 2]
    assert list(PassThroughAllWindowFunction[int, None]().apply(None, [1, 2])) == [1, 2]


def test_async_timeout_raises_by_default_and_names_the_element() -> None:
    class Lookup(AsyncFunction[int, int]):
        async def async_invoke(self, value: int) -> list[int]:
            return [value]

    with pytest.raises(TimeoutError, match="42"):
        Lookup().timeout(42)

"""The rules of state descriptors."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from rekindle.common.time import Time
from rekindle.common.typeinfo import Types
from rekindle.datastream import state
from rekindle.datastream.functions import AggregateFunction, FoldFunction, ReduceFunction
from rekindle.datastream.state import (
    AggregatingStateDescriptor,
    FoldingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from rekindle.exceptions import ConfigurationError
from rekindle.serialization import PickleSerializer
from rekindle.types.class_typeinfo import PojoTypeInfo, SerializerTypeInfo

PYFLINK_NAMES = {
    "ValueStateDescriptor", "ValueState", "ListStateDescriptor", "ListState", "MapStateDescriptor",
    "MapState", "ReducingStateDescriptor", "ReducingState", "AggregatingStateDescriptor", "AggregatingState",
    "ReadOnlyBroadcastState", "BroadcastState", "StateTtlConfig", "OperatorStateStore", "State",
    "AppendingState", "MergingState", "StateDescriptor",
}  # fmt: skip


class Sum(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1 + value2


class Count(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


def folding(name: str) -> FoldingStateDescriptor:
    with pytest.warns(DeprecationWarning, match="AggregatingStateDescriptor"):
        return FoldingStateDescriptor(name, 0, lambda accumulator, value: accumulator + value)


KINDS: dict[str, Callable[[Any], StateDescriptor]] = {
    "value": ValueStateDescriptor,
    "list": ListStateDescriptor,
    "map": MapStateDescriptor,
    "reducing": lambda name: ReducingStateDescriptor(name, Sum()),
    "aggregating": lambda name: AggregatingStateDescriptor(name, Count()),
    "folding": folding,
}
every_kind = pytest.mark.parametrize("describe", KINDS.values(), ids=KINDS.keys())


def test_every_name_of_pyflinks_module_is_exported() -> None:
    assert set(state.__all__) >= PYFLINK_NAMES
    assert all(hasattr(state, name) for name in state.__all__)


@every_kind
def test_a_descriptor_knows_its_name(describe: Callable[[Any], StateDescriptor]) -> None:
    assert describe("counts").get_name() == "counts"
    assert describe("counts").name == "counts"


@every_kind
def test_an_empty_name_raises(describe: Callable[[Any], StateDescriptor]) -> None:
    with pytest.raises(ConfigurationError, match="must not be empty"):
        describe("")


@every_kind
@pytest.mark.parametrize("name", [None, 1, b"counts"])
def test_a_name_that_is_no_string_raises(describe: Callable[[Any], StateDescriptor], name: object) -> None:
    with pytest.raises(TypeError, match="must be a string"):
        describe(name)


def test_without_types_state_is_pickled() -> None:
    pickled = Types.PICKLED_BYTE_ARRAY()
    assert ValueStateDescriptor("s").type_info == pickled
    assert ListStateDescriptor("s").type_info == Types.LIST(pickled)
    assert MapStateDescriptor("s").type_info == Types.MAP(pickled, pickled)
    assert MapStateDescriptor("s", Types.STRING()).type_info == Types.MAP(Types.STRING(), pickled)
    assert ReducingStateDescriptor("s", Sum()).type_info == pickled
    assert AggregatingStateDescriptor("s", Count()).type_info == pickled
    assert folding("s").type_info == pickled


def test_given_types_are_kept() -> None:
    assert ValueStateDescriptor("s", Types.INT()).type_info == Types.INT()
    elements = ListStateDescriptor("s", Types.INT())
    assert elements.type_info == Types.LIST(Types.INT())
    assert elements.elem_type_info == Types.INT()
    entries = MapStateDescriptor("s", Types.STRING(), Types.INT())
    assert entries.type_info == Types.MAP(Types.STRING(), Types.INT())
    assert (entries.key_type_info, entries.value_type_info) == (Types.STRING(), Types.INT())
    assert ReducingStateDescriptor("s", Sum(), Types.INT()).type_info == Types.INT()
    assert AggregatingStateDescriptor("s", Count(), Types.LONG()).type_info == Types.LONG()


@pytest.mark.parametrize("kind", [ValueStateDescriptor, ListStateDescriptor, MapStateDescriptor])
@pytest.mark.parametrize("type_info", [5, Types.INT, "INT"])
def test_a_type_that_is_no_type_information_raises_and_names_the_state(kind: Any, type_info: object) -> None:
    with pytest.raises(TypeError, match="'counts' must be type information"):
        kind("counts", type_info)


def test_a_type_is_a_class_an_annotation_or_a_serializer_too() -> None:
    @dataclass
    class Point:
        x: int

    serializer = PickleSerializer()
    assert ValueStateDescriptor("s", Point).type_info == PojoTypeInfo(Point)
    assert ListStateDescriptor("s", str).elem_type_info == Types.STRING()
    assert MapStateDescriptor("s", str, list[float]).value_type_info == Types.LIST(Types.DOUBLE())
    assert ReducingStateDescriptor("s", Sum(), serializer).type_info == SerializerTypeInfo(serializer)


def test_a_value_has_its_default_or_none() -> None:
    assert ValueStateDescriptor("s", Types.INT()).get_default_value() is None
    assert ValueStateDescriptor("s", Types.INT(), 7).get_default_value() == 7
    assert ValueStateDescriptor("s", default_value=0).get_default_value() == 0


def test_equal_means_same_kind_name_and_types() -> None:
    one = ValueStateDescriptor("s", Types.INT())
    assert one == ValueStateDescriptor("s", Types.INT(), default_value=3)
    assert hash(one) == hash(ValueStateDescriptor("s", Types.INT()))
    assert one != ValueStateDescriptor("t", Types.INT())
    assert one != ValueStateDescriptor("s", Types.LONG())
    assert one != ListStateDescriptor("s", Types.INT())
    assert one != "s"
    assert ReducingStateDescriptor("s", Sum(), Types.INT()) == ReducingStateDescriptor("s", max, Types.INT())


def test_a_reduce_function_may_be_a_callable() -> None:
    function = Sum()
    assert ReducingStateDescriptor("s", function).get_reduce_function() is function
    wrapped = ReducingStateDescriptor("s", lambda a, b: a * b).get_reduce_function()
    assert isinstance(wrapped, ReduceFunction)
    assert wrapped.reduce(6, 7) == 42


@pytest.mark.parametrize("function", [None, 3, Sum])
def test_a_reduce_function_that_is_none_raises(function: Any) -> None:
    with pytest.raises(TypeError, match="'s': reduce_function"):
        ReducingStateDescriptor("s", function)


@pytest.mark.parametrize("function", [None, Count, max])
def test_only_an_aggregate_function_aggregates(function: Any) -> None:
    with pytest.raises(TypeError, match="'s': agg_function"):
        AggregatingStateDescriptor("s", function)


def test_an_aggregate_function_is_kept() -> None:
    function = Count()
    assert AggregatingStateDescriptor("s", function).get_agg_function() is function


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_folding_state_takes_an_initial_value_and_a_function() -> None:
    class Append(FoldFunction):
        def fold(self, accumulator: str, value: Any) -> str:
            return accumulator + str(value)

    function = Append()
    assert FoldingStateDescriptor("s", "", function).get_fold_function() is function
    descriptor = FoldingStateDescriptor("s", 1, lambda accumulator, value: accumulator - value)
    assert descriptor.get_initial_value() == 1
    assert descriptor.get_fold_function().fold(1, 3) == -2
    with pytest.raises(TypeError, match="'s': fold_function"):
        FoldingStateDescriptor("s", 1, None)  # type: ignore[arg-type]


@every_kind
def test_every_kind_can_expire(describe: Callable[[Any], StateDescriptor]) -> None:
    descriptor = describe("s")
    assert descriptor.get_ttl_config() is None
    ttl_config = StateTtlConfig.new_builder(Time.seconds(1)).build()
    descriptor.enable_time_to_live(ttl_config)
    assert descriptor.get_ttl_config() is ttl_config


def test_ttl_that_is_no_config_raises() -> None:
    with pytest.raises(TypeError, match="'s': enable_time_to_live"):
        ValueStateDescriptor("s").enable_time_to_live(Time.seconds(1))  # type: ignore[arg-type]


@every_kind
def test_every_kind_can_be_queryable(describe: Callable[[Any], StateDescriptor]) -> None:
    descriptor = describe("s")
    assert not descriptor.is_queryable()
    assert descriptor.get_queryable_state_name() is None
    descriptor.set_queryable("query")
    assert descriptor.is_queryable()
    assert descriptor.get_queryable_state_name() == "query"


def test_a_state_has_one_queryable_name() -> None:
    descriptor = ValueStateDescriptor("s")
    descriptor.set_queryable("query")
    descriptor.set_queryable("query")
    with pytest.raises(ConfigurationError, match="already queryable as 'query'"):
        descriptor.set_queryable("other")


def test_a_queryable_name_must_be_a_string_and_not_empty() -> None:
    with pytest.raises(ConfigurationError, match="must not be empty"):
        ValueStateDescriptor("s").set_queryable("")
    with pytest.raises(TypeError, match="must be a string"):
        ValueStateDescriptor("s").set_queryable(None)  # type: ignore[arg-type]


def test_descriptors_survive_pickling() -> None:
    descriptor = MapStateDescriptor("s", Types.STRING(), Types.INT())
    descriptor.set_queryable("query")
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(1)).build())
    copy = pickle.loads(pickle.dumps(descriptor))
    assert copy == descriptor
    assert copy.get_queryable_state_name() == "query"
    assert copy.get_ttl_config().get_ttl() == Time.seconds(1)

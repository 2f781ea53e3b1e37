"""The first value of a state is tried out, so that a wrong type is named with its record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from rekindle.common import Time, Types
from rekindle.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from rekindle.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from rekindle.exceptions import SerializationError
from rekindle.runtime.slot.failure import OperatorError
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.rocksdb.settings import RocksDBSettings
from support.in_process_job import InProcessJob, collect

BACKENDS = {"heap": BackendSettings(), "rocksdb": BackendSettings(RocksDBSettings())}


class Keep(KeyedProcessFunction):
    """Put a value into a state, of the kind that is asked for."""

    def __init__(self, kind: str, expires: bool) -> None:
        self._kind = kind
        self._expires = expires

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor: Any = {
            "value": ValueStateDescriptor("kept", Types.LONG()),
            "list": ListStateDescriptor("kept", Types.LONG()),
            "map": MapStateDescriptor("kept", Types.STRING(), Types.LONG()),
            "map key": MapStateDescriptor("kept", Types.LONG(), Types.LONG()),
            "reducing": ReducingStateDescriptor("kept", lambda one, other: one + other, Types.LONG()),
        }[self._kind]
        if self._expires:
            descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.days(1)).build())
        get = {"value": "get_state", "list": "get_list_state", "reducing": "get_reducing_state"}
        self.state: Any = getattr(runtime_context, get.get(self._kind, "get_map_state"))(descriptor)

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        before = len(type(self.state).__mro__)
        match self._kind:
            case "value":
                self.state.update(value)
            case "map":
                self.state.put("some", value)
            case "map key":
                self.state.put(value, 1)
            case _:
                self.state.add(value)
        yield before - len(type(self.state).__mro__)


@pytest.mark.parametrize("expires", [False, True])
@pytest.mark.parametrize("kind", ["value", "list", "map", "map key", "reducing"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_wrong_type_fails_at_the_put_and_names_operator_state_and_key(backend: str, kind: str, expires: bool) -> None:
    env = StreamExecutionEnvironment()
    stream = env.from_collection(["many"]).key_by(lambda value: "ann", Types.STRING())
    collect(stream.process(Keep(kind, expires)).name("Counting").uid("counting"))
    with InProcessJob(env, 1, backend=BACKENDS[backend]) as job, pytest.raises(OperatorError) as raised:
        job.run_epoch()
    assert isinstance(raised.value.__cause__, SerializationError)
    words = str(raised.value.__cause__)
    assert "'kept'" in words
    assert "'many' (str)" in words
    assert "Counting" in words


@pytest.mark.parametrize("kind", ["value", "list", "map", "reducing"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_nothing_is_left_of_it_after_the_first_value(backend: str, kind: str) -> None:
    env = StreamExecutionEnvironment()
    collect(env.from_collection([1, 2, 3]).key_by(lambda value: 0, Types.LONG()).process(Keep(kind, False)))
    with InProcessJob(env, 1, backend=BACKENDS[backend]) as job:
        job.run_epoch()
        assert job.collected == [1, 0, 0], "the class that tries is there for one value"

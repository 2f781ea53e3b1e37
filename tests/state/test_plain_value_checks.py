"""A value that does not fit the plain type of its state is named at the end of its chunk, with state and key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from rekindle.common import Time, Types
from rekindle.contracts.key_groups import KeyGroupRange
from rekindle.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from rekindle.datastream.state import ReducingStateDescriptor, StateTtlConfig, ValueStateDescriptor
from rekindle.exceptions import SerializationError
from rekindle.runtime.slot.failure import OperatorError
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.rocksdb.settings import RocksDBSettings
from rekindle.testing import BackendUnderTest
from support.in_process_job import InProcessJob, collect

BACKENDS = {"heap": BackendSettings(), "rocksdb": BackendSettings(RocksDBSettings())}
EVERYTHING = KeyGroupRange(0, 127)


class Keep(KeyedProcessFunction):
    """Put every record into a state."""

    def __init__(self, reducing: bool, expires: bool) -> None:
        self._reducing = reducing
        self._expires = expires

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor: Any = ValueStateDescriptor("kept", Types.LONG())
        if self._reducing:
            descriptor = ReducingStateDescriptor("kept", lambda one, other: other, Types.LONG())
        if self._expires:
            descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.days(1)).build())
        get = runtime_context.get_reducing_state if self._reducing else runtime_context.get_state
        self._put: Any = get(descriptor).add if self._reducing else get(descriptor).update

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self._put(value)
        yield value


@pytest.mark.parametrize("expires", [False, True])
@pytest.mark.parametrize("reducing", [False, True])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_wrong_type_fails_without_a_snapshot_and_names_operator_state_and_key(
    backend: str, reducing: bool, expires: bool
) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([1, 2, "many"]).key_by(lambda value: "ann", Types.STRING())
    collect(stream.process(Keep(reducing, expires)).name("Counting").uid("counting"))
    with InProcessJob(env, 1, backend=BACKENDS[backend]) as job, pytest.raises(OperatorError) as raised:
        job.run_epoch()
    assert isinstance(raised.value.__cause__, SerializationError)
    words = str(raised.value.__cause__)
    assert "state 'kept' of operator 'Counting'" in words
    assert "for key 'ann': 'many' (str) is not of type LONG" in words


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_a_state_takes_stays_what_its_serializer_takes(backend: str) -> None:
    under_test = BackendUnderTest(backend, BACKENDS[backend])
    taken = [(Types.LONG(), [1, True, 1.5, 1 << 70]), (Types.DOUBLE(), [1.0, 3]), (Types.BOOLEAN(), [True, 1, 0])]
    for type_info, values in taken:
        keyed = under_test.create(EVERYTHING, 128, lambda: 0)
        state: Any = keyed.get_or_create(ValueStateDescriptor("kept", type_info))
        for keyed.key, value in enumerate(values):
            state.update(value)
            keyed.after_chunk(1)
            assert state.value() is value
    under_test.close()


@pytest.mark.parametrize("type_info", [None, Types.PICKLED_BYTE_ARRAY(), Types.LIST(Types.LONG())], ids=str)
@pytest.mark.parametrize("backend", BACKENDS)
def test_only_plain_types_are_looked_at(backend: str, type_info: Any) -> None:
    under_test = BackendUnderTest(backend, BACKENDS[backend])
    keyed = under_test.create(EVERYTHING, 128, lambda: 0)
    keyed.key = "ann"
    state: Any = keyed.get_or_create(ValueStateDescriptor("kept", type_info))
    held = lambda: None  # noqa: E731 - cannot be pickled, and need not be before it is written
    state.update(held)
    keyed.after_chunk(1)
    assert state.value() is held
    state.clear()
    under_test.close()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_value_that_is_gone_at_the_end_of_the_chunk_was_never_there(backend: str) -> None:
    under_test = BackendUnderTest(backend, BACKENDS[backend])
    keyed = under_test.create(EVERYTHING, 128, lambda: 0)
    state: Any = keyed.get_or_create(ValueStateDescriptor("kept", Types.LONG()))
    keyed.after_chunk(0)  # without a key
    keyed.key = "ann"
    state.update("for now")
    state.update(5)
    keyed.after_chunk(2)
    state.update("for now")
    state.clear()
    keyed.after_chunk(2)
    state.update("for good")
    with pytest.raises(SerializationError, match="state 'kept'"):
        keyed.after_chunk(1)
    state.clear()
    under_test.close()

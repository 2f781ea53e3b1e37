"""Bad input: each mistake has a message of its own, which says what happened, to what, and what to do."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest

from rekindle.common import Types
from rekindle.datastream import KeyedProcessFunction, MapFunction, StreamExecutionEnvironment
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.exceptions import (
    ConfigurationError,
    InvalidProgramError,
    JobExecutionError,
    SlotLostError,
    UserCodeError,
)
from rekindle.runtime.slot.slot_deployment import SlotDeployment
from rekindle.runtime.spark.slot_launcher import launch_slots
from support.balances import environment
from support.driver import driver

pytestmark = pytest.mark.usefixtures("no_slots_left")


def fails(env: StreamExecutionEnvironment) -> UserCodeError:
    with pytest.raises(JobExecutionError) as caught:
        env.execute()
    assert isinstance(caught.value.__cause__, UserCodeError)
    return caught.value.__cause__


def test_a_function_that_cannot_be_pickled_is_named(local_cluster: Any) -> None:
    lock = threading.Lock()
    env = environment(local_cluster, None)

    def guarded(value: int) -> int:
        with lock:
            return value

    env.from_collection([1]).map(guarded).name("guarded map").print()
    with pytest.raises(InvalidProgramError, match=r"operator 'guarded map' cannot be sent .* create that in open"):
        env.execute()


def test_a_key_selector_that_cannot_be_pickled_is_named(spark: Any) -> None:
    env = environment(spark, None)
    env.from_collection([1]).key_by(lambda n: spark.version).map(lambda n: n).name("after").print()
    with pytest.raises(InvalidProgramError, match="the key selector before operator 'after'"):
        env.execute()


class WantsState(MapFunction):
    def open(self, runtime_context: Any) -> None:
        self._state = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def map(self, value: Any) -> Any:
        return value


def test_keyed_state_on_a_stream_without_a_key_is_explained(local_cluster: Any) -> None:
    env = environment(local_cluster, None, restarts=0)
    env.from_collection([1]).map(WantsState()).name("counter").print()
    error = fails(env)
    assert error.operator == "counter"
    assert "only accessible by functions executed on a KeyedStream" in error.summary
    assert "'count'" in error.summary
    assert "call key_by(...) before it" in error.summary


@pytest.mark.parametrize("parallelism", [1, 2])
def test_a_key_selector_that_raises_is_named(local_cluster: Any, parallelism: int) -> None:
    env = environment(local_cluster, None, restarts=0)
    env.set_parallelism(parallelism)
    env.from_collection([1, 0]).key_by(lambda n: 1 // n).map(lambda n: n).name("after").print()
    error = fails(env)
    assert "ZeroDivisionError" in error.summary
    assert "raised by the key selector of key_by, before operator 'after'" in str(error)


@pytest.mark.parametrize("parallelism", [1, 2])
def test_an_unhashable_key_is_named(local_cluster: Any, parallelism: int) -> None:
    env = environment(local_cluster, None, restarts=0)
    env.set_parallelism(parallelism)
    env.from_collection([1]).key_by(lambda n: [n]).map(lambda n: n).name("after").print()
    error = fails(env)
    assert "the key selector of key_by before operator 'after' returned a list" in error.summary


def test_duplicate_uids_are_named(local_cluster: Any) -> None:
    env = environment(local_cluster, None)
    stream = env.from_collection([1]).uid("same")
    stream.map(lambda n: n).name("copy").uid("same").print()
    with pytest.raises(
        InvalidProgramError, match="uid 'same' is used by two operators, 'Collection Source' and 'copy'"
    ):
        env.execute()


def test_a_port_in_use_is_named(spark: Any) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        env = environment(spark, None, jobmanager_rpc_port=str(port))
        env.from_collection([1]).print()
        with pytest.raises(ConfigurationError, match=rf"cannot listen on 127.0.0.1:{port}: .*jobmanager.rpc.port"):
            env.execute()


def test_a_slot_that_dies_before_it_has_registered_is_named_without_a_word_of_the_jvm(spark: Any) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        deployment = SlotDeployment(0, -1, b"s" * 32, "127.0.0.1", port, False, [], 1_000, 8_000, b"")
        with pytest.raises(SlotLostError) as caught:
            launch_slots(spark, "job", deployment, 2)
    first, *rest = str(caught.value).splitlines()
    assert first.startswith("could not start slot ")
    assert rest == [
        f"the job master at 127.0.0.1:{port} cannot be reached: [Errno 111] Connection refused",
        "its process ended with exit code 1 before it had registered with the job master",
    ]


def test_a_missing_java_is_explained() -> None:
    with driver("main_classes.py", "/nowhere", environment={"JAVA_HOME": "/nonexistent"}) as running:
        assert running.wait() != 0
        assert "Java at /nonexistent/bin/java cannot be started" in running.output()
        assert "apt-get install openjdk-17-jre-headless" in running.output()
        running.assert_nothing_is_left()


def test_state_that_cannot_be_opened_names_operator_and_subtask(local_cluster: Any) -> None:
    class Broken(KeyedProcessFunction):
        def open(self, runtime_context: Any) -> None:
            raise OSError("no such model")

        def process_element(self, value: Any, ctx: Any) -> Any:
            return None

    env = environment(local_cluster, None, restarts=0)
    env.from_collection([1]).key_by(lambda n: n).process(Broken()).name("model").print()
    error = fails(env)
    assert (error.operator, error.summary) == ("model", "OSError: no such model")


def test_what_comes_later_raises_naming_the_method(local_cluster: Any) -> None:
    env = environment(local_cluster, None)
    keyed = env.from_collection([1]).key_by(lambda n: n)
    with pytest.raises(NotImplementedError, match="add_jars"):
        env.add_jars("file:///connector.jar")
    with pytest.raises(Exception, match="name for KeyedStream is not supported"):
        keyed.name("x")


def test_an_empty_program_is_refused(local_cluster: Any) -> None:
    with pytest.raises(InvalidProgramError, match="there is nothing to execute"):
        environment(local_cluster, None).execute()

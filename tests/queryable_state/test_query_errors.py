"""What queries raise, and which programs are refused."""

from __future__ import annotations

import os
import socket
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rekindle.common import Types
from rekindle.datastream.functions import KeyedProcessFunction, RuntimeContext
from rekindle.datastream.state import MapStateDescriptor, ValueStateDescriptor
from rekindle.exceptions import ConfigurationError, InvalidProgramError, JobExecutionError
from rekindle.queryable_state import (
    ImmutableStateError,
    NoCheckpointError,
    QueryableStateClient,
    QueryRefusedError,
    QueryTimeoutError,
    StateServerGoneError,
    UnknownJobError,
    UnknownStateNameError,
    WrongStateTypeError,
)
from rekindle.testing import OperatorHarness, local_environment
from support.queryable_jobs import KINDS, Feed, descriptor, keeps_all, running, settings

LONG, STRING = Types.LONG(), Types.STRING()


def test_each_thing_that_can_be_wrong_with_a_query_has_an_error_of_its_own(local_cluster: object) -> None:
    value = descriptor("value")
    with running(keeps_all, parallelism=1) as job:
        job.feed.put(("a", 1))
        job.shows("value", "a", 1)
        ask = partial(job.client.get_kv_state, job.job_id)
        with pytest.raises(UnknownJobError, match="serves job"):
            job.client.get_kv_state("0" * 32, "value", "a", STRING, value).result(30)
        with pytest.raises(
            UnknownStateNameError, match="no queryable state 'valu'; those it has: aggregating, folding"
        ):
            ask("valu", "a", STRING, value).result(30)
        with pytest.raises(WrongStateTypeError, match="type of the keys of state 'value' is STRING in the job"):
            ask("value", 1, LONG, value).result(30)
        with pytest.raises(WrongStateTypeError, match="type of the values of state 'value' is LONG in the job"):
            ask("value", "a", STRING, ValueStateDescriptor("value", STRING)).result(30)
        with pytest.raises(WrongStateTypeError, match="'map' is a map state, and was asked for as a value state"):
            ask("map", "a", STRING, value).result(30)
        with pytest.raises(WrongStateTypeError, match="values of state 'map' is STRING to LONG"):
            ask("map", "a", STRING, MapStateDescriptor("map", LONG, LONG)).result(30)
        with pytest.raises(WrongStateTypeError, match="key 1: "):
            ask("value", 1, STRING, value)
        with pytest.raises(NoCheckpointError, match="no checkpoint of the job has been completed yet"):
            ask("value", "a", STRING, value, "checkpointed").result(30)
        with pytest.raises(ValueError, match="sometimes"):
            ask("value", "a", STRING, value, "sometimes")
        with pytest.raises(QueryRefusedError, match="between 1 and 10,000 keys"):
            job.client.get_kv_states(job.job_id, "value", map(str, range(10_001)), STRING, value).result(30)
        with pytest.raises(QueryRefusedError, match="more than the 1,048,576 allowed"):
            ask("value", "a" * (1 << 20), STRING, value).result(30)
        metrics = job.client.metrics()
        assert metrics.failures >= 8
        assert metrics.queries > metrics.failures
    with pytest.raises(StateServerGoneError, match="the client was shut down"):
        ask("value", "a", STRING, value)


def test_nobody_who_answers_is_an_error_and_so_is_one_who_never_does() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = silent.getsockname()
        with (
            QueryableStateClient(*address, timeout=0.2) as client,
            pytest.raises(QueryTimeoutError, match=r"within 0\.2 s"),
        ):
            client.get_kv_state("0" * 32, "value", "a").result(30)
    with QueryableStateClient(*address) as client, pytest.raises(StateServerGoneError, match="nobody answers"):
        client.get_kv_state("0" * 32, "value", "a", timeout=0).result(30)


def test_states_that_queries_return_cannot_be_changed(local_cluster: object) -> None:
    with running(keeps_all, parallelism=1) as job:
        job.feed.put(("a", 1))
        job.shows("folding", "a", 1)
        for kind in KINDS:
            state: Any = job.client.get_kv_state(job.job_id, kind, "a", STRING, descriptor(kind)).result(30)
            changes = {"value": [("update", 1)], "list": [("add", 1), ("add_all", [1]), ("update", [1])]}
            changes["map"] = [("put", 1, 1), ("put_all", {}), ("remove", 1), ("__setitem__", 1, 1), ("__delitem__", 1)]
            for method, *arguments in [("clear",), *changes.get(kind, [("add", 1)])]:
                with pytest.raises(ImmutableStateError, match="cannot be changed"):
                    getattr(state, method)(*arguments)


def test_a_token_is_needed_where_one_is_set(local_cluster: object) -> None:
    configuration = settings(**{"queryable-state.token": "open sesame"})
    with running(keeps_all, configuration, parallelism=1) as job:
        job.feed.put(("a", 1))
        job.shows("value", "a", 1)
        for token in (None, "open barley"):
            with (
                QueryableStateClient(*job.proxies()[0], token) as client,
                pytest.raises(QueryRefusedError, match="token"),
            ):
                client.get_kv_state(job.job_id, "value", "a", STRING, descriptor("value")).result(30)


def test_where_no_token_is_set_only_the_users_own_processes_know_one(local_cluster: object) -> None:
    with running(keeps_all, settings(), parallelism=1) as job:
        job.feed.put(("a", 1))
        job.shows("value", "a", 1)
        for token in ("", "open barley"):
            with (
                QueryableStateClient(*job.proxies()[0], token) as client,
                pytest.raises(QueryRefusedError, match="token"),
            ):
                client.get_kv_state(job.job_id, "value", "a", STRING, descriptor("value")).result(30)
    secret = Path(os.environ["REKINDLE_STATE_DIR"]) / "secrets" / "queryable-state"
    assert secret.stat().st_mode & 0o777 == 0o600
    assert secret.parent.stat().st_mode & 0o077 == 0


def test_proxies_that_everybody_can_reach_need_a_token() -> None:
    env = local_environment(1, settings(**{"queryable-state.proxy.bind-address": "0.0.0.0"}))
    env.from_collection([1]).print()
    with pytest.raises(ConfigurationError, match=r"set queryable-state.token to what clients have to show"):
        env.execute()


def test_an_address_that_the_machine_does_not_have_fails_the_job_at_once(local_cluster: object) -> None:
    more = {"queryable-state.proxy.bind-address": "192.0.2.1", "queryable-state.token": "t"}
    env = local_environment(1, settings(**more))
    env.from_collection([1]).print()
    with pytest.raises(JobExecutionError, match=r"cannot answer queries at 192\.0\.2\.1"):
        env.execute()


class Holds(KeyedProcessFunction):
    """Hold a descriptor."""

    def __init__(self, name: str, queried_as: str) -> None:
        self._descriptor = ValueStateDescriptor(name, LONG)
        self._descriptor.set_queryable(queried_as)

    def open(self, runtime_context: RuntimeContext) -> None:
        runtime_context.get_state(self._descriptor)

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        pass


class Makes(KeyedProcessFunction):
    """Make a descriptor only when it is opened."""

    def __init__(self, name: str, queried_as: str) -> None:
        self._names = name, queried_as

    def open(self, runtime_context: RuntimeContext) -> None:
        made = ValueStateDescriptor(self._names[0], LONG)
        made.set_queryable(self._names[1])
        runtime_context.get_state(made)

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        pass


def test_queryable_state_that_is_off_is_said_at_submission() -> None:
    env = local_environment()
    keyed = env.from_collection([1, 2]).key_by(lambda number: number, LONG)
    keyed.as_queryable_state("last")
    with pytest.raises(InvalidProgramError, match="queried as 'last', but queryable state is off: set queryable-state"):
        env.execute_async()
    env = local_environment()
    env.from_collection([1, 2]).key_by(lambda number: number, LONG).process(Holds("x", "asked"))
    with pytest.raises(InvalidProgramError, match=r"set queryable-state\.enable to true"):
        env.execute_async()


@pytest.mark.parametrize("early", [True, False], ids=["known at submission", "known in the slot"])
def test_a_name_that_is_used_twice_fails_the_job_at_once(local_cluster: object, early: bool) -> None:
    env = local_environment(2, settings())
    keyed = env.from_collection([1, 2]).key_by(lambda number: number, LONG)
    kind = Holds if early else Makes
    keyed.process(kind("x", "asked"))
    keyed.process(kind("x", "asked"))
    with pytest.raises(InvalidProgramError if early else JobExecutionError) as caught:
        env.execute()
    assert "two states of the job are to be queried as 'asked'" in str(caught.value) + str(caught.value.__cause__)


def test_a_name_that_two_slots_use_for_different_states_fails_the_job(local_cluster: object) -> None:
    """Only the job master sees it: no slot has both."""
    feed = Feed()
    with running(partial(_named_by_subtask), parallelism=2, feed=feed) as job:
        feed.put(*((str(number), number) for number in range(64)))
        error = job.master.result.exception(60)
        assert "two states of the job are to be queried as 'asked'" in str(error) + str(error and error.__cause__)
        assert job.master.history.restarts == 0


class NamesBySubtask(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._context = runtime_context

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        made = ValueStateDescriptor(f"state {self._context.get_index_of_this_subtask()}", LONG)
        made.set_queryable("asked")
        self._context.get_state(made).update(1)


def _named_by_subtask(env: Any, stream: Any) -> None:
    stream.key_by(lambda record: record[0], STRING).process(NamesBySubtask())


def test_functions_with_queryable_state_run_in_the_harness() -> None:
    assert OperatorHarness.keyed(Makes("x", "asked"), lambda number: number).process(1) == []

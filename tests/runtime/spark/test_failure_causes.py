"""What users read of a failure: the cause, without what only we need."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from rekindle.datastream import DataStream, KeyedProcessFunction, ProcessFunction, StreamExecutionEnvironment
from rekindle.exceptions import (
    CheckpointCorruptError,
    CheckpointStorageError,
    JobExecutionError,
    SerializerSnapshotError,
    SlotLostError,
    StateMigrationException,
    StateRestoreError,
    UserCodeError,
)
from rekindle.graph.job_graph import JobNode
from rekindle.runtime.master.restarts.failures import slot_error
from rekindle.runtime.slot.failure import OperatorError, describe_failure, explain
from rekindle.runtime.spark.errors import ended_error, readable_errors, spark_error
from rekindle.runtime.wire import messages as m
from support.in_process_job import InProcessJob, collect


def test_an_error_of_user_code_carries_operator_subtask_and_traceback() -> None:
    error = slot_error(m.SlotFailed("counter", 1, "ValueError: no", "Traceback …"))
    assert isinstance(error, UserCodeError)
    assert (error.operator, error.subtask, error.user_traceback) == ("counter", 1, "Traceback …")


def failure_of(uid: str, error: Exception) -> m.SlotFailed:
    blamed = OperatorError(JobNode(0, uid, "KEYED PROCESS", None, 1, 128, False, 0, False))
    blamed.__cause__ = error
    return describe_failure(blamed, 1)


def test_operators_of_one_name_are_told_apart_by_the_uids_that_they_were_given() -> None:
    error = slot_error(failure_of("totals", ValueError("no")))
    assert str(error).startswith("ValueError: no\n  in operator 'KEYED PROCESS' (uid totals), subtask 1; ")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    derived = slot_error(failure_of("0123456789abcdef" * 2, ValueError("no")))
    assert "in operator 'KEYED PROCESS', subtask 1; " in str(derived)


def test_errors_of_our_own_are_explained_without_their_class() -> None:
    assert explain(describe_failure(CheckpointStorageError("cannot write x"), 0)) == "cannot write x"
    assert explain(describe_failure(OSError("no room"), 0)) == "OSError: no room"
    blamed = explain(failure_of("totals", CheckpointStorageError("cannot write x")))
    assert blamed.startswith("cannot write x\n  in operator 'KEYED PROCESS' (uid totals), subtask 1; ")


def test_any_other_error_of_a_slot_names_the_slot() -> None:
    error = slot_error(m.SlotFailed("", 1, "OSError: no", "Traceback …"))
    assert isinstance(error, JobExecutionError)
    assert str(error).startswith("slot 1 failed: OSError: no")


def test_damage_that_a_slot_found_is_the_same_error_here() -> None:
    damage = CheckpointCorruptError("snapshot file x cannot be read: it is damaged")
    error = slot_error(describe_failure(damage, 0))
    assert isinstance(error, CheckpointCorruptError)
    assert str(error) == str(damage)


def test_an_error_of_sparks_is_shown_without_the_frames_of_the_jvm() -> None:
    lines = ["Job aborted", "\tat org.apache.spark.A", "", *(f"line {i}" for i in range(20)), "Driver stacktrace:", "x"]
    raised = RuntimeError("\n".join(lines))
    error = spark_error(raised)
    assert str(error).splitlines() == ["an epoch failed in Spark: Job aborted", *(f"line {i}" for i in range(11))]
    assert error.__cause__ is raised


@pytest.mark.parametrize(
    ("said", "meaning"),
    [
        (
            "Lost task 0.0 in stage 4: org.apache.spark.SparkException: Python worker failed to connect back.\n\tat …",
            "a Python worker that Spark had started did not connect back to it in time",
        ),
        (
            "EOFException occurred while reading the port number from rekindle.runtime.spark.worker_daemon's stdout.",
            "Spark cannot start Python workers: the daemon that starts them ended at once",
        ),
        (
            "java.io.EOFException\n\tat java.base/java.io.DataInputStream.readInt(DataInputStream.java:386)\n"
            "\tat org.apache.spark.api.python.PythonWorkerFactory.createWorker$1(PythonWorkerFactory.scala:213)",
            "a Python worker of Spark ended before it could be used",
        ),
    ],
)
def test_a_python_worker_of_sparks_that_does_not_come_about_is_explained(said: str, meaning: str) -> None:
    raised = RuntimeError(f"An error occurred while calling o82.collectToPython.\n: {said}")
    error = spark_error(raised, "the slots could not be started")
    assert str(error).startswith(f"the slots could not be started: {meaning}")
    assert "PYSPARK_PYTHON" in str(error)
    assert len(str(error).splitlines()) == 1
    assert error.__cause__ is raised


def test_an_error_that_is_ours_stays_as_it_is() -> None:
    lost = SlotLostError("slot 1")
    assert spark_error(lost) is lost
    with pytest.raises(SlotLostError) as raised, readable_errors():
        raise lost
    assert raised.value is lost
    assert raised.value.__cause__ is None


def test_what_an_epoch_raises_is_made_readable() -> None:
    boom = ValueError("boom\n\tat org.apache.spark.Something")
    with pytest.raises(JobExecutionError) as raised, readable_errors():
        raise boom
    assert str(raised.value) == "an epoch failed in Spark: boom"
    assert raised.value.__cause__ is boom


def test_a_query_that_ended_by_itself_is_an_error_too() -> None:
    assert "Spark ended the query" in str(ended_error(None))
    assert str(ended_error(RuntimeError("boom"))) == "an epoch failed in Spark: boom"


@pytest.mark.parametrize("kind", [StateRestoreError, StateMigrationException, SerializerSnapshotError])
def test_state_that_does_not_fit_is_the_same_error_here(kind: type[StateRestoreError]) -> None:
    error = slot_error(describe_failure(kind("state 'count' of operator 'sum' …"), 0))
    assert type(error) is kind
    assert str(error) == "state 'count' of operator 'sum' …"


class One(ProcessFunction):
    def process_element(self, value: int, ctx: Any) -> int:
        return value


class OnePerKey(KeyedProcessFunction):
    def process_element(self, value: int, ctx: Any) -> int:
        return value


def error_of(program: Callable[[DataStream], DataStream]) -> str:
    env = StreamExecutionEnvironment.get_execution_environment()
    collect(program(env.from_collection([7])))
    with InProcessJob(env) as job, pytest.raises(OperatorError) as info:
        job.run_to_end()
    return describe_failure(info.value, 0).summary


@pytest.mark.parametrize(
    "program",
    [
        lambda numbers: numbers.flat_map(lambda n: n),
        lambda numbers: numbers.process(One()),
        lambda numbers: numbers.key_by(lambda n: n).process(OnePerKey()),
        lambda numbers: numbers.key_by(lambda n: n).flat_map(lambda n: n),
    ],
)
def test_a_function_that_returns_one_result_instead_of_a_list_is_told_so(
    program: Callable[[DataStream], DataStream],
) -> None:
    assert error_of(program) == (
        "TypeError: 'int' object is not iterable: functions that may give any number of results yield them, or return "
        "a list or None"
    )


def test_the_same_error_in_user_code_is_left_as_it_is() -> None:
    assert error_of(lambda numbers: numbers.map(lambda n: list(n))) == "TypeError: 'int' object is not iterable"

"""Whatever user code raises, and wherever: the operator is named, the record if there is one, and nothing is lost."""

from __future__ import annotations

import asyncio
import time

import pytest

from rekindle.common import Configuration, WatermarkStrategy
from rekindle.datastream import DataStream, StreamExecutionEnvironment
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.exceptions import JobExecutionError, UserCodeError
from rekindle.runtime.slot.failure import OperatorError, describe_failure, explain
from support.in_process_job import InProcessJob, collect
from support.in_process_master import Cluster, cluster
from support.poisoned_programs import NUMBERS, PROGRAMS, Mapping, Program, Trouble
from support.slot_processes import slot_processes

__all__ = ["cluster"]  # a fixture


class NotAnException(BaseException):
    """An error of the user's own that is not an Exception."""


ERRORS = [
    SystemExit(3),
    KeyboardInterrupt(),
    asyncio.CancelledError(),
    GeneratorExit(),
    StopIteration(),
    NotAnException("x"),
]


def run_to_end(env: StreamExecutionEnvironment, batch_memory: int | None) -> None:
    with InProcessJob(env, batch_memory=batch_memory) as job:
        while not all(report.finished for report in job.run_epoch()):
            time.sleep(0.001)  # a source function has a thread of its own
        job.checkpoint()


def failure_of(program: Program, error: BaseException, batch_memory: int | None = None) -> OperatorError:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    result = program(env.from_collection(NUMBERS), Trouble(error))
    if isinstance(result, DataStream):
        collect(result)
    with pytest.raises(OperatorError) as caught:
        run_to_end(env, batch_memory)
    return caught.value


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_operator_is_named_and_the_record_at_which_it_raised(name: str) -> None:
    program, record = PROGRAMS[name]
    error = ValueError("no")
    raised = failure_of(program, error)
    failure = describe_failure(raised, 0)
    assert type(raised.__cause__) is ValueError
    assert failure.summary.splitlines()[0] == "ValueError: no"
    assert failure.record == record
    assert (f", at {record}; the traceback" in explain(failure)) is bool(record)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_no_exception_is_an_error_of_the_operator_too(name: str, error: BaseException) -> None:
    program, record = PROGRAMS[name]
    failure = describe_failure(failure_of(program, error), 0)
    assert type(error).__name__ in failure.summary + failure.traceback
    assert failure.record == record


@pytest.mark.parametrize("name", ["keyed process", "keyed map", "reduce", "timer", "window", "broadcast"])
def test_the_record_is_named_in_a_batch(name: str) -> None:
    program, record = PROGRAMS[name]
    assert describe_failure(failure_of(program, ValueError("no"), batch_memory=100), 0).record == record


def test_it_is_said_that_a_function_cannot_end_its_process() -> None:
    failure = describe_failure(failure_of(PROGRAMS["map"][0], SystemExit(3)), 0)
    assert failure.summary == (
        "SystemExit: 3: a function cannot end its process; raise an error that says what is wrong, or cancel the job"
    )


# --- in a job ---


def test_an_error_in_close_is_told_though_the_job_has_finished(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    collect(PROGRAMS["close"][0](env.from_collection(NUMBERS), Trouble(SystemExit(3))))
    assert cluster.submit(env).result.result(60)
    assert "user code raised while the job was being ended: SystemExit: 3" in caplog.text


def test_whatever_ends_a_function_ends_the_job_with_its_error_and_not_the_slot() -> None:
    """Each attempt fails in another way, in another thread of the slot; what follows from it is no cause."""
    seen: list[str] = []
    with slot_processes() as cluster:
        for program, words in (
            (PROGRAMS["keyed map"][0], "SystemExit: 3"),
            (PROGRAMS["open"][0], "SystemExit: 3"),
            (PROGRAMS["snapshot"][0], "SystemExit: 3"),
            (lambda stream, _: stream.map(Mapping(Trouble(ValueError("\udc80" + "x" * 10_000_000)))), r"\udc80xxx"),
        ):
            configuration = Configuration.from_dict({"restart-strategy.type": "none"})
            env = StreamExecutionEnvironment.get_execution_environment(configuration)
            env.set_parallelism(1)
            env.enable_checkpointing(10)
            numbers = env.from_source(NumberSequenceSource(1, 100_000), WatermarkStrategy.no_watermarks(), "numbers")
            collect(program(numbers, Trouble(SystemExit(3))))
            master = cluster.submit(env)
            with pytest.raises(JobExecutionError) as caught:
                master.result.result(60)
            assert isinstance(caught.value.__cause__, UserCodeError), caught.value
            assert words in caught.value.__cause__.summary
            assert len(str(caught.value)) < 30_000
            seen.append(caught.value.__cause__.record)
    assert seen == ["record 7 of key 1", "", "", "record 7"]

"""A function that raised in a job raises the same again, in this process, with what its crash record holds."""

from __future__ import annotations

import random
import threading
from pathlib import Path
from typing import Any

import pytest

from rekindle.checkpoint.crash_records import CrashSummary, crash_records, read_crash
from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.common import Types
from rekindle.datastream import DataStream, KeyedProcessFunction, MapFunction
from rekindle.datastream.functions import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from rekindle.datastream.state import ListStateDescriptor, ValueStateDescriptor
from rekindle.exceptions import CrashRecordError, JobExecutionError
from rekindle.runtime.slot import crash_keeper
from rekindle.runtime.slot.crash_replay import Outcome, Reproduction, reproduce
from rekindle.testing import LocalEnvironment, local_environment
from support import crash_programs, poisoned_programs
from support.poisoned_programs import NUMBERS, Trouble
from support.processes import wait_until

BACKENDS = ["hashmap", "rocksdb"]


def environment(directory: Path, restarts: int = 0, parallelism: int = 1, **settings: str) -> LocalEnvironment:
    return local_environment(
        parallelism,
        {
            "execution.checkpointing.dir": str(directory),
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": str(restarts),
            "restart-strategy.fixed-delay.delay": "1 ms",
            **{key.replace("_", "."): value for key, value in settings.items()},
        },
    )


def fail(env: LocalEnvironment, result: Any) -> str:
    if isinstance(result, DataStream):
        result.print()
    with pytest.raises(JobExecutionError) as caught:
        env.execute("crashing")
    return str(caught.value)


def only_crash(directory: Path) -> tuple[CrashSummary, Reproduction]:
    (stored,) = crash_records(str(directory))
    assert stored.summary is not None, stored.problem
    return stored.summary, reproduce(*read_crash(stored.path))


REPRODUCIBLE = [name for name, (_, record) in poisoned_programs.PROGRAMS.items() if record and name != "partitioner"]


@pytest.mark.parametrize("name", REPRODUCIBLE)
def test_every_kind_of_function_raises_the_same_again(tmp_path: Path, name: str) -> None:
    env = environment(tmp_path)
    program, record = poisoned_programs.PROGRAMS[name]
    told = fail(env, program(env.from_collection(NUMBERS), Trouble(ValueError("no"))))
    summary, result = only_crash(tmp_path)
    assert record in told
    assert (result.outcome, result.differences) == (Outcome.SAME, ())
    assert repr(result.error) == "ValueError('no')"
    assert summary.exception == "builtins.ValueError"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", crash_programs.PROGRAMS)
def test_a_function_that_changed_its_state_raises_the_same_again(tmp_path: Path, name: str, backend: str) -> None:
    env = environment(tmp_path, restarts=1, parallelism=2, state_backend_type=backend)
    told = fail(env, crash_programs.PROGRAMS[name](env.from_collection(crash_programs.RECORDS)))
    summary, result = only_crash(tmp_path)
    assert (result.outcome, result.differences) == (Outcome.SAME, ())
    assert summary.message in told.replace('"', "'") or name == "map"
    assert summary.state == "before"
    assert summary.attempt == 1


# --- what is in a record, and what is not ---


def test_a_crash_record_says_what_happened_where(tmp_path: Path) -> None:
    env = environment(tmp_path, restarts=1, parallelism=2)
    stream = crash_programs.PROGRAMS["timer"](env.from_collection(crash_programs.RECORDS))
    fail(env, stream.uid("timers").name("my timers"))
    summary, _ = only_crash(tmp_path)
    assert (summary.operator, summary.uid, summary.transformation) == ("my timers", "timers", "KeyedProcessOperator")
    assert (summary.kind, summary.record) == ("timer", f"the timer at {summary.timestamp}")
    assert summary.key in ("'a'", "'b'")
    assert summary.parallelism == 2
    assert summary.states == ("fired",)
    assert summary.lines[-1].startswith(str(Path(crash_programs.__file__)))
    assert "raise OverflowError" in summary.traceback
    assert summary.left_out == ()


def test_state_is_copied_at_the_first_failure_if_the_job_asks_for_it(tmp_path: Path) -> None:
    env = environment(tmp_path, **{"rekindle.crash-records.copy-state": "always"})
    fail(env, crash_programs.PROGRAMS["counted window"](env.from_collection(crash_programs.RECORDS)))
    summary, result = only_crash(tmp_path)
    assert (summary.attempt, summary.state, result.outcome) == (0, "before", Outcome.SAME)


def test_state_from_after_the_failure_is_said_to_be_that(tmp_path: Path) -> None:
    env = environment(tmp_path, restarts=1, **{"rekindle.crash-records.copy-state": "never"})
    fail(env, crash_programs.PROGRAMS["value"](env.from_collection(crash_programs.RECORDS)))
    summary, result = only_crash(tmp_path)
    assert (summary.attempt, summary.state, result.outcome) == (0, "after", Outcome.NONE)


class Outside(MapFunction):
    """Depend on something that no record holds."""

    def map(self, value: Any) -> Any:
        if Path(value).exists():
            raise OSError("it is there")
        return value


def test_what_depends_on_the_outside_world_is_said_not_to_be_the_same(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.touch()
    env = environment(tmp_path / "checkpoints")
    fail(env, env.from_collection([str(outside)]).map(Outside()))
    outside.unlink()
    _, result = only_crash(tmp_path / "checkpoints")
    assert result == Reproduction(Outcome.NONE, None)


def test_a_record_that_is_too_large_is_left_out_and_noted(tmp_path: Path) -> None:
    env = environment(tmp_path, **{"rekindle.crash-records.max-size": "50 kb"})
    fail(env, env.from_collection(["x" * 100_000]).map(lambda text: 1 // 0))
    (stored,) = crash_records(str(tmp_path))
    assert stored.summary is not None
    assert stored.size < 50_000
    assert stored.summary.left_out == ("the record: larger than rekindle.crash-records.max-size allows",)
    assert stored.summary.record.startswith("'xxx")
    with pytest.raises(CrashRecordError, match="left out of the record were the record: larger"):
        reproduce(*read_crash(stored.path))


class Hoarding(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.kept = runtime_context.get_state(ValueStateDescriptor("kept", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Any, ctx: Any) -> None:
        self.kept.update(threading.Lock() if value == "lock" else "x" * 100_000)
        raise KeyError(value)


@pytest.mark.parametrize(("value", "why"), [("lock", "cannot pickle"), ("large", "max-size allows")])
def test_state_that_cannot_be_written_is_left_out_and_noted(tmp_path: Path, value: str, why: str) -> None:
    env = environment(tmp_path, **{"rekindle.crash-records.max-size": "50 kb"})
    told = fail(env, env.from_collection([value]).key_by(lambda text: text).process(Hoarding()))
    assert f"KeyError: '{value}'" in told
    summary, result = only_crash(tmp_path)
    (left_out,) = summary.left_out
    assert left_out.startswith("the state of the key: ")
    assert why in left_out
    assert result.outcome is Outcome.SAME


class Remembering(MapFunction, CheckpointedFunction):
    """Be large, and keep much."""

    def __init__(self) -> None:
        self.large = random.Random(1).randbytes(30_000)

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        state = context.get_operator_state_store().get_list_state(ListStateDescriptor("kept", Types.STRING()))
        state.add("x" * 30_000)

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        pass

    def map(self, value: Any) -> Any:
        raise KeyError(value)


def test_operator_state_makes_room_for_the_function(tmp_path: Path) -> None:
    env = environment(tmp_path, **{"rekindle.crash-records.max-size": "50 kb"})
    fail(env, env.from_collection([1]).map(Remembering()))
    (stored,) = crash_records(str(tmp_path))
    assert stored.size < 50_000
    summary, result = only_crash(tmp_path)
    assert summary.left_out == ("the operator state: larger than rekindle.crash-records.max-size allows",)
    assert result.outcome is Outcome.SAME


class FailsInTurn(KeyedProcessFunction):
    """Fail at the first key, then at the second, and at that again when the record of the first is damaged."""

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def open(self, runtime_context: Any) -> None:
        attempt = runtime_context.get_attempt_number()
        self.wanted = "b" if attempt else "a"
        if attempt == 2:
            for damaged in Path(self.directory).glob("*/crashes/*"):
                if read_crash(str(damaged))[0].key == "'a'":
                    damaged.write_bytes(b"RKCR")

    def process_element(self, value: str, ctx: Any) -> None:
        if value == self.wanted:
            raise KeyError(value)


def test_one_that_is_damaged_does_not_keep_others_from_being_made_better(tmp_path: Path) -> None:
    env = environment(tmp_path, restarts=2)
    fail(env, env.from_collection(["a", "b"]).key_by(lambda text: text).process(FailsInTurn(str(tmp_path))))
    found = {crash.summary.key: crash.summary.state for crash in crash_records(str(tmp_path)) if crash.summary}
    assert found == {"'b'": "before"}


# --- how many there are, and where ---


class AnotherEachTime(MapFunction):
    """Fail at another record in each attempt."""

    def open(self, runtime_context: Any) -> None:
        self.attempt = runtime_context.get_attempt_number()

    def map(self, value: Any) -> Any:
        if value == self.attempt:
            raise ValueError(value)
        return value


def test_the_same_failure_has_one_record_however_often_it_comes_back(tmp_path: Path) -> None:
    env = environment(tmp_path, restarts=2)
    told = fail(env, crash_programs.PROGRAMS["value"](env.from_collection(crash_programs.RECORDS)))
    assert "the same failure 3 times" in told
    assert only_crash(tmp_path)[0].attempt == 1


def test_the_oldest_records_go_when_there_are_too_many(tmp_path: Path) -> None:
    env = environment(tmp_path, restarts=6, **{"rekindle.crash-records.max-number": "3"})
    fail(env, env.from_collection(list(range(10))).map(AnotherEachTime()))
    found = crash_records(str(tmp_path))
    assert [crash.summary.record for crash in found if crash.summary] == ["6", "5", "4"]


@pytest.mark.parametrize(
    "settings", [{"rekindle.crash-records.enabled": "false"}, {"rekindle.errors.show-records": "false"}]
)
def test_none_is_written_where_that_is_switched_off(tmp_path: Path, settings: dict[str, str]) -> None:
    env = environment(tmp_path, restarts=1, **settings)
    fail(env, env.from_collection([0]).map(lambda value: 1 // value))
    assert crash_records(str(tmp_path)) == []


def test_none_is_written_where_checkpoints_are_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    env = local_environment(1, {"restart-strategy.type": "none"})
    fail(env, env.from_collection([0]).map(lambda value: 1 // value))
    assert list(tmp_path.iterdir()) == []


def test_a_storage_that_fails_does_not_hide_the_error(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").touch()
    env = environment(tmp_path / "file", restarts=1)
    told = fail(env, env.from_collection([0]).map(lambda value: 1 // value))
    assert "ZeroDivisionError" in told
    assert "the crash record of operator 'Map' cannot be written" in caplog.text


def test_a_storage_that_hangs_does_not_hold_the_error_up_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crash_keeper, "_WRITE_SECONDS", 0.01)
    answers = threading.Event()
    create = LocalCheckpointFiles.create

    def hang(self: LocalCheckpointFiles, path: str, data: bytes) -> None:
        if "crash-" in path:  # the job's own record is waited for
            answers.wait(60)
        create(self, path, data)

    monkeypatch.setattr(LocalCheckpointFiles, "create", hang)
    env = environment(tmp_path)
    assert "ZeroDivisionError" in fail(env, env.from_collection([0]).map(lambda value: 1 // value))
    assert crash_records(str(tmp_path)) == []
    answers.set()
    wait_until(lambda: bool(crash_records(str(tmp_path))), "it is written in the end")


def test_crash_records_stay_when_the_job_ends_well(tmp_path: Path) -> None:
    env = environment(tmp_path, restarts=1, **{"execution.checkpointing.interval": "1 ms"})
    env.from_collection([0]).map(AnotherEachTime()).print()
    env.execute("recovering")
    summary, result = only_crash(tmp_path)
    assert (summary.attempt, result.outcome) == (0, Outcome.SAME)

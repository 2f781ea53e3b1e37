"""Programs that can never work: they fail at once, whatever the restart strategy; failures of user code do not."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
from pyspark.errors import AnalysisException, PySparkAttributeError, StreamingQueryException

from rekindle.common import Configuration, JobStatus, RestartStrategies, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.contracts.functions.rich_function import RichFunction
from rekindle.datastream import (
    CoProcessFunction,
    DataStream,
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    JobManagerCheckpointStorage,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    Partitioner,
    ProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.functions import CheckpointedFunction
from rekindle.datastream.state import ListStateDescriptor, MapStateDescriptor, StateDescriptor, ValueStateDescriptor
from rekindle.exceptions import (
    CheckpointError,
    CheckpointStorageError,
    ConfigurationError,
    InvalidProgramError,
    JobExecutionError,
    RekindleError,
    SerializationError,
    SlotLostError,
    SlotProtocolError,
    SparkSetupError,
    StateAccessError,
    StateMigrationException,
    UserCodeError,
)
from rekindle.graph.job_graph import JobGraph
from rekindle.runtime.exchange import writers
from rekindle.runtime.master.restarts.failures import hopeless, slot_error
from rekindle.runtime.slot.failure import describe_failure
from rekindle.runtime.slot.slot_job import load_job
from rekindle.runtime.spark.cluster import SparkCluster
from rekindle.runtime.spark.errors import refusal, spark_error
from rekindle.testing.in_process.epochs import InProcessEpochs
from support.ha_drivers import latest_entry
from support.in_process_job import collect
from support.in_process_master import Cluster, cluster
from support.odd_values import NeedsTwoArguments

__all__ = ["cluster"]

RESTARTS = 2
Program = Callable[[DataStream], DataStream]


class Asks(KeyedProcessFunction):
    """Ask for states, and do something with the last of them for each record."""

    def __init__(self, *descriptors: StateDescriptor, use: Callable[[Any], None] = lambda state: None) -> None:
        self._descriptors = descriptors
        self._use = use

    def open(self, runtime_context: RuntimeContext) -> None:
        getters = {
            ValueStateDescriptor: runtime_context.get_state,
            ListStateDescriptor: runtime_context.get_list_state,
            MapStateDescriptor: runtime_context.get_map_state,
        }
        self._states = [getters[type(descriptor)](descriptor) for descriptor in self._descriptors]

    def process_element(self, value: Any, ctx: Any) -> Any:
        self._use(self._states[-1])
        yield value


class ReadsInOpen(Asks):
    def open(self, runtime_context: RuntimeContext) -> None:
        super().open(runtime_context)
        self._states[-1].value()


class AsksWithoutKey(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._state = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def map(self, value: int) -> int:
        return value


class AsksForTheWrongKind(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        runtime_context.get_list_state(ValueStateDescriptor("count", Types.INT()))  # type: ignore[arg-type]

    def map(self, value: int) -> int:
        return value


class SetsTimers(ProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Any:
        ctx.timer_service().register_processing_time_timer(1)
        yield value


class SetsTimersAt(KeyedProcessFunction):
    def __init__(self, time: Any) -> None:
        self._time = time

    def process_element(self, value: int, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(self._time)
        yield value


class HalfMilliseconds(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> Any:
        return 0.5


class SetsTimersOnTwo(CoProcessFunction):
    def process_element1(self, value: int, ctx: Any) -> Any:
        ctx.timer_service().register_processing_time_timer(1)
        yield value

    process_element2 = process_element1


class YieldsThree(ProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Any:
        yield OutputTag("side"), value, value


class Beyond(Partitioner):
    def partition(self, key: Any, num_partitions: int) -> int:
        return num_partitions


class AsksForQueryableState(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = ValueStateDescriptor("x", Types.INT())
        descriptor.set_queryable("asked")
        self._state = runtime_context.get_state(descriptor)

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        pass


def keyed(function: KeyedProcessFunction) -> Program:
    return lambda numbers: numbers.key_by(lambda n: n % 3).process(function)


NEVER_WORKS: dict[str, tuple[Program, str]] = {
    "keyed state without a key": (lambda numbers: numbers.map(AsksWithoutKey()), "call key_by(...) before it"),
    "state read in open": (keyed(ReadsInOpen(ValueStateDescriptor("x", Types.INT()))), "there is no current key"),
    "one name for two kinds of state": (
        keyed(Asks(ValueStateDescriptor("x", Types.INT()), ListStateDescriptor("x", Types.INT()))),
        "give the second state another name",
    ),
    "a timer at half a millisecond": (keyed(SetsTimersAt(0.5)), "was given as 0.5, a float: it is a whole number"),
    "a timer beyond 64 bits": (keyed(SetsTimersAt(2**63)), "has to fit into 64 bits"),
    "a timestamp that is no integer": (
        lambda numbers: numbers.assign_timestamps_and_watermarks(
            WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(HalfMilliseconds())
        ),
        "the timestamp from HalfMilliseconds.extract_timestamp was given as 0.5, a float",
    ),
    "a list as the key of a map": (
        keyed(Asks(MapStateDescriptor("x", None, None), use=lambda state: state.put([1], 1))),
        "a map state was given a list as a key",
    ),
    "the wrong descriptor": (
        lambda numbers: numbers.key_by(lambda n: n).map(AsksForTheWrongKind()),
        "is described by a ListStateDescriptor",
    ),
    "an unhashable key": (lambda numbers: numbers.key_by(lambda n: [n]).map(lambda n: n), "a key must be hashable"),
    "a key that is not of its type": (
        lambda numbers: numbers.key_by(lambda n: str(n), Types.INT()).map(lambda n: n),
        "does not fit its key_type",
    ),
    "a record that cannot be pickled": (
        lambda numbers: numbers.map(lambda n: threading.Lock()).rebalance().map(lambda n: n),
        "an object cannot be pickled: TypeError: cannot pickle '_thread.lock' object",
    ),
    "a record that is not of its type": (
        lambda numbers: numbers.map(lambda n: str(n), Types.INT()).key_by(lambda n: n).map(lambda n: n),
        "INT",
    ),
    "queryable state": (keyed(AsksForQueryableState()), "set queryable-state.enable to true"),
    "timers without a key": (lambda numbers: numbers.process(SetsTimers()), "timers can be set only on a keyed stream"),
    "timers on two streams": (
        lambda numbers: numbers.connect(numbers).key_by(lambda n: n, lambda n: n).process(SetsTimersOnTwo()),
        "make the CoProcessFunction a KeyedCoProcessFunction",
    ),
    "three values for a side output": (lambda numbers: numbers.process(YieldsThree()), "yield the tag and one value"),
    "a partition that is not there": (
        lambda numbers: numbers.partition_custom(Beyond(), lambda n: n).map(lambda n: n),
        "it must return a number from 0 to 1",
    ),
}


def run(
    cluster: Cluster, program: Program, prepare: Callable[[StreamExecutionEnvironment], object] = lambda env: None
) -> BaseException:
    """Run a program that fails; return why."""
    settings = Configuration.from_dict({"rekindle.epoch.max-records": "50"})
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_parallelism(2)
    env.enable_checkpointing(10)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(RESTARTS, 0))
    prepare(env)
    collect(program(env.from_source(NumberSequenceSource(1, 10**6), WatermarkStrategy.no_watermarks(), "numbers")))
    master = cluster.submit(env)
    error = master.result.exception(60)
    assert master.status is JobStatus.FAILED
    assert isinstance(error, JobExecutionError)
    return error


@pytest.mark.parametrize("what", NEVER_WORKS)
def test_a_program_that_can_never_work_fails_at_once(cluster: Cluster, what: str) -> None:
    program, words = NEVER_WORKS[what]
    error = run(cluster, program)
    assert words in str(error)
    assert "a restart would not cure this" in str(error)
    assert cluster.masters[0].history.restarts == 0


UNWRITABLE: dict[str, tuple[Program, str]] = {
    "a value that is not of its type": (
        keyed(Asks(ValueStateDescriptor("x", Types.INT()), use=lambda state: state.update("text"))),
        "'text' (str) is not of type INT",
    ),
    "a value that cannot be pickled": (
        keyed(Asks(ValueStateDescriptor("x", None), use=lambda state: state.update(threading.Lock()))),
        "cannot pickle '_thread.lock' object",
    ),
    "a value that can be written and not be read": (
        keyed(Asks(ValueStateDescriptor("x", None), use=lambda state: state.update(NeedsTwoArguments(1, 2)))),
        "missing 1 required positional argument: 'second'",
    ),
}


@pytest.mark.parametrize("backend", [HashMapStateBackend, EmbeddedRocksDBStateBackend])
@pytest.mark.parametrize("what", UNWRITABLE)
def test_state_that_cannot_be_written_fails_the_job_at_once(cluster: Cluster, what: str, backend: Any) -> None:
    program, words = UNWRITABLE[what]
    error = run(cluster, program, lambda env: env.set_state_backend(backend()))
    assert words in str(error)
    assert "a restart would not cure this" in str(error)
    assert cluster.masters[0].history.restarts == 0


def test_a_record_that_spark_cannot_carry_fails_the_job_at_once(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in ("SPLIT_BYTES", "RECORD_BYTES"):
        monkeypatch.setattr(writers, limit, 1_000_000)
    error = run(
        cluster,
        lambda numbers: (
            numbers.map(lambda _: bytes(2_000_000)).name("Enlarge").rebalance().map(lambda x: len(x)).name("Measure")
        ),
    )
    assert "a record that operator 'Enlarge' sends to 'Measure' has 2,000," in str(error)
    assert "Spark carries at most 1,000,000" in str(error)
    assert "a restart would not cure this" in str(error)
    assert cluster.masters[0].history.restarts == 0


def test_metadata_that_cannot_be_written_fails_the_job_at_once(cluster: Cluster, tmp_path: Path) -> None:
    error = run(
        cluster,
        lambda numbers: numbers.map(lambda number: number).name("\ud800"),
        lambda env: env.get_checkpoint_config().set_checkpoint_storage_dir(f"file://{tmp_path}"),
    )
    assert "cannot be written" in str(error)
    assert "Names of jobs and operators are strings" in str(error)
    assert cluster.masters[0].history.restarts == 0


class SplitsAndUnites(RichFunction, MapFunction, CheckpointedFunction):
    """Ask for a list state in another way in each subtask."""

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        first = self.get_runtime_context().get_index_of_this_subtask() == 0
        get = store.get_union_list_state if first else store.get_list_state
        self._list = get(ListStateDescriptor("both", Types.INT()))

    def snapshot_state(self, context: Any) -> None:
        self._list.update([1])

    def map(self, value: int) -> int:
        return value


def test_one_name_for_two_kinds_of_operator_state_fails_the_job_at_once(cluster: Cluster) -> None:
    error = run(cluster, lambda numbers: numbers.rebalance().map(SplitsAndUnites()))
    assert "state 'both' of operator" in str(error)
    assert "let all subtasks ask for it in the same way" in str(error)
    assert cluster.masters[0].history.restarts == 0


def test_checkpoints_stay_for_the_program_that_is_put_right_and_with_high_availability_it_goes_on_from_them(
    cluster: Cluster, tmp_path: Path
) -> None:
    settings = {
        "high-availability.type": "filesystem",
        "high-availability.storageDir": f"{tmp_path}/ha",
        "execution.checkpointing.dir": f"file://{tmp_path}/checkpoints",
    }

    def later_text(state: Any) -> None:
        count = state.value() or 0
        state.update(count + 1 if count != "text" and count < 5_000 else "text")

    program = keyed(Asks(ValueStateDescriptor("x", Types.INT()), use=later_text))
    error = run(cluster, program, lambda env: env.configure(Configuration.from_dict(settings)))
    (kept,) = tmp_path.glob("checkpoints/*/chk-*/_metadata")
    assert f"is kept: go on from it with 'rekindle run -s {kept.parent} " in str(error), "though none is retained"
    entry = latest_entry(tmp_path)
    assert not entry.over
    assert entry.checkpoints[-1].location == str(kept.parent)


def test_state_that_the_job_masters_memory_does_not_take_fails_the_job_at_once(cluster: Cluster) -> None:
    program = keyed(Asks(ValueStateDescriptor("x", Types.STRING()), use=lambda state: state.update("x" * 10_000)))
    storage = JobManagerCheckpointStorage(max_state_size=1_000)
    error = run(cluster, program, lambda env: env.get_checkpoint_config().set_checkpoint_storage(storage))
    assert "Set a checkpoint directory" in str(error)
    assert cluster.masters[0].history.restarts == 0


class RaisesWhenPickled:
    def __reduce__(self) -> Any:
        raise RuntimeError("no answer")


def fails(value: int) -> int:
    raise TypeError(f"{value} is odd")


@pytest.mark.parametrize(
    "program",
    [
        lambda numbers: numbers.map(fails),
        lambda numbers: numbers.flat_map(lambda n: n),
        lambda numbers: numbers.key_by(lambda n: n + "1").map(lambda n: n),
        keyed(Asks(ListStateDescriptor("x", Types.INT()), use=lambda state: state.add(None))),
        keyed(Asks(ValueStateDescriptor("x", Types.INT()), use=lambda state: fails(1))),
        keyed(Asks(ValueStateDescriptor("x", None), use=lambda state: state.update(RaisesWhenPickled()))),
    ],
    ids=["function", "result", "key selector", "none in a list", "function with state", "pickling of a value"],
)
def test_what_a_record_may_have_brought_about_is_left_to_the_restart_strategy(
    cluster: Cluster, program: Program
) -> None:
    error = run(cluster, program)
    assert f"all {RESTARTS} restart attempts are used up" in str(error)
    assert cluster.masters[0].history.restarts == RESTARTS


class Refusing(Cluster):
    """Stand for a Spark that does not plan the epochs."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    def epochs(self, graph: JobGraph) -> InProcessEpochs:
        epochs = super().epochs(graph)
        epochs.start = self._start  # type: ignore[method-assign]
        return epochs

    def _start(self, *_: Any) -> NoReturn:
        raise self._error

    def refusal(self, error: BaseException) -> str | None:
        return refusal(error)


NO_SESSION: Any = None
SPARK = SparkCluster(NO_SESSION, "job")
PLANNING = {
    "analysis": AnalysisException("[UNRESOLVED_COLUMN] x"),
    "a method that is not there": PySparkAttributeError("[ATTRIBUTE_NOT_SUPPORTED] repartitionById"),
    "an argument too many": TypeError("start() takes 1 positional argument but 2 were given"),
}


@pytest.mark.parametrize("what", PLANNING)
def test_an_error_of_planning_fails_the_job_at_once(what: str) -> None:
    cluster = Refusing(PLANNING[what])
    error = run(cluster, lambda numbers: numbers)
    assert str(PLANNING[what]) in str(error)
    assert cluster.masters[0].history.restarts == 0


class TestKinds:
    @pytest.mark.parametrize(
        "error",
        [
            AnalysisException("x"),
            AttributeError("x"),
            spark_error(AnalysisException("x")),
        ],
    )
    def test_an_error_of_planning_is_hopeless_until_an_epoch_has_ended(self, error: Exception) -> None:
        assert hopeless(error, False, SPARK)
        assert hopeless(error, True, SPARK) is None, "a plan that has worked once is not wrong"

    @pytest.mark.parametrize(
        "error",
        [
            OSError("no room"),
            ConnectionRefusedError("no"),
            RuntimeError("x"),
            SlotLostError("slot 1"),
            SlotProtocolError("twice"),
            CheckpointError("too many"),
            CheckpointStorageError("no room"),
            JobExecutionError("the attempt has ended"),
            spark_error(RuntimeError("Job aborted")),
            spark_error(StreamingQueryException("Job aborted: TypeError: x")),
            UserCodeError("map", 0, "TypeError: x", "…"),
        ],
    )
    def test_what_a_restart_may_cure_is_not(self, error: Exception) -> None:
        assert hopeless(error, False, SPARK) is None

    @pytest.mark.parametrize(
        "kind",
        [
            ConfigurationError,
            InvalidProgramError,
            SerializationError,
            SparkSetupError,
            StateAccessError,
            StateMigrationException,
        ],
    )
    def test_an_error_of_ours_keeps_its_kind_on_its_way_from_a_slot(self, kind: type[RekindleError]) -> None:
        for raised in (kind("x"), type("OfAUsersModule", (kind,), {})("x")):
            error = slot_error(describe_failure(raised, 0))
            assert isinstance(error, kind)
            assert str(error).endswith("x")
            assert hopeless(error, True, SPARK)

    def test_a_job_that_cannot_be_loaded_in_a_slot_is_hopeless(self) -> None:
        data = pickle.dumps(JobStatus.FAILED).replace(b"job.job_status", b"job.job_statuz")
        with pytest.raises(InvalidProgramError, match=r"No module named .*add_python_file") as raised:
            load_job(data)
        assert hopeless(slot_error(describe_failure(raised.value, 0)), True, SPARK)

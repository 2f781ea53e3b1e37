"""Jobs by columns that fail, stop and go on: output is that of plain Python, with columns on and off and in between."""

from __future__ import annotations

import random
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from rekindle.columns.evaluation import NotColumnar
from rekindle.columns.expressions import Field
from rekindle.columns.folds import FieldFold, Fold, FoldKind, fold_of
from rekindle.columns.kernels import fold_input
from rekindle.columns.not_traceable import NotTraceable
from rekindle.columns.shapes import Shape
from rekindle.common import RestartStrategies, Time, Types, WatermarkStrategy
from rekindle.datastream import AggregateFunction, MapFunction, RuntimeContext
from rekindle.datastream.window import TumblingEventTimeWindows
from rekindle.testing import LocalEnvironment, local_environment
from support.balances import read_output
from support.column_jobs import RowTime, assert_golden, job, tables
from support.seeds import SEED

ON_AND_OFF = pytest.mark.parametrize("columns", [True, False], ids=["columns", "records"])


GATE: dict[str, Any] = {}  # functions of an importable module share this with the test


class Troubled(MapFunction):
    """Fail in the first attempts, each time later, and wait for the test where it says so."""

    def __init__(self, failures: tuple[int, ...] = ()) -> None:
        self._failures = failures

    def open(self, runtime_context: RuntimeContext) -> None:
        self._attempt = runtime_context.get_attempt_number()
        self._seen = 0

    def map(self, value: Any) -> Any:
        self._seen += 1
        if self._attempt < len(self._failures) and self._seen == self._failures[self._attempt]:
            raise ValueError("trouble")
        if self._seen == GATE.get("at"):
            GATE["reached"].set()
            GATE["open"].wait(60)
        return value


def environment(directory: Path, columns: bool, parallelism: int, **settings: str) -> LocalEnvironment:
    options = {
        "execution.checkpointing.dir": str(directory / "checkpoints"),
        "rekindle.columns.enabled": str(columns).lower(),
        **settings,
    }
    env = local_environment(parallelism, options)
    env.enable_checkpointing(10)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(100, 0))
    return env


def check_paths(env: LocalEnvironment, columns: bool) -> None:
    """Check that the windows run by columns if they are to: the test proves nothing else."""
    assert ('"path": "columns, folded before the exchange"' in env.get_execution_plan()) == columns


@ON_AND_OFF
@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_a_job_that_fails_again_and_again_counts_each_record_once(
    tmp_path: Path, columns: bool, parallelism: int, backend: str
) -> None:
    given = tables(random.Random(SEED))
    env = environment(tmp_path, columns, parallelism, **{"state.backend.type": backend})
    job(partial(env.from_data_frame, given), tmp_path / "out", Troubled((30, 110, 7)))
    check_paths(env, columns)
    env.execute()
    assert_golden(given, tmp_path / "out")


@ON_AND_OFF
def test_a_slot_that_is_killed_loses_nothing(tmp_path: Path, columns: bool) -> None:
    given = tables(random.Random(SEED + 1))
    GATE.update(at=60, reached=threading.Event(), open=threading.Event())
    try:
        env = environment(tmp_path, columns, 2)
        job(partial(env.from_data_frame, given), tmp_path / "out", Troubled())
        check_paths(env, columns)
        client = env.execute_async()
        assert GATE["reached"].wait(60)
        env.cluster.kill_slot(1)
        GATE["at"] = None
        GATE["open"].set()
        client.get_job_execution_result().result(60)
    finally:
        GATE.clear()
    assert_golden(given, tmp_path / "out")


@pytest.mark.parametrize("parallelism", [(1, 2), (2, 1), (2, 2)], ids=str)
@pytest.mark.parametrize("columns", [True, False], ids=["columns, then records", "records, then columns"])
def test_a_savepoint_of_one_path_is_restored_by_the_other(
    tmp_path: Path, columns: bool, parallelism: tuple[int, int]
) -> None:
    given = tables(random.Random(SEED + 2))
    GATE.update(at=60, reached=threading.Event(), open=threading.Event())
    try:
        env = environment(tmp_path, columns, parallelism[0])
        job(partial(env.from_data_frame, given), tmp_path / "out", Troubled())
        check_paths(env, columns)
        client = env.execute_async()
        assert GATE["reached"].wait(60)
        stopped = client.stop_with_savepoint(False, str(tmp_path / "savepoint"))
        GATE["at"] = None
        GATE["open"].set()
        savepoint = stopped.result(60)
        client.get_job_execution_result().result(60)
    finally:
        GATE.clear()
    assert len(read_output(str(tmp_path / "out" / "totals"))) < sum(table.num_rows for table in given) / 2
    settings = {"execution.state-recovery.path": savepoint}
    again = environment(tmp_path, not columns, parallelism[1], **settings)
    job(partial(again.from_data_frame, given), tmp_path / "out", Troubled())
    check_paths(again, not columns)
    again.execute()
    assert_golden(given, tmp_path / "out")


class TestWatermarks:
    """The watermark of a stream by columns moves when that of records would."""

    @ON_AND_OFF
    @pytest.mark.parametrize("odd", [False, True], ids=["columns", "nulls"])
    def test_few_records_in_each_epoch_move_it_too(self, columns: bool, odd: bool, epochs: list[int]) -> None:
        # One record an epoch goes to one of two subtasks that make watermarks. It must not always be the same.
        given = [
            pa.table({"k": [1], "v": pa.array([None if odd else 1], pa.int64()), "t": [epoch * 1_000]})
            for epoch in range(40)
        ]
        env = local_environment(2, {"rekindle.columns.enabled": str(columns).lower()})
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(RowTime())
        if odd:
            strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(NullTime())
        rows = env.from_data_frame(given, "rows")
        keyed = rows.assign_timestamps_and_watermarks(strategy).key_by(lambda row: row.k)
        windows = keyed.window(TumblingEventTimeWindows.of(Time.seconds(1))).reduce(lambda a, b: b)
        EPOCH.append(epochs)
        waited = list(windows.map(EpochsWaited(), Types.LONG()).execute_and_collect())
        assert len(waited) == 40
        assert max(waited[:25]) < 12


class NullTime(RowTime):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value.t + (0 if value.v == 5 else 1)  # type: ignore[no-any-return]


EPOCH: list[list[int]] = []


class EpochsWaited(MapFunction):
    """Return how many epochs there were from a record to the window that it is in."""

    def map(self, value: Any) -> int:
        return EPOCH[-1][-1] - value.t // 1_000  # type: ignore[no-any-return]


@pytest.mark.parametrize("nulls", [False, True], ids=["columns", "some tables by records"])
@pytest.mark.parametrize("parallelism", [1, 2])
def test_operators_count_the_same_records(parallelism: int, nulls: bool, operator_graphs: list[Any]) -> None:
    given = tables(random.Random(SEED))
    if nulls:
        long = [pa.array([-1 << 62] * table.num_rows) for table in given[:3]]  # times 4 it is no 64 bits any more
        given = [table.set_column(1, "price", prices) for table, prices in zip(given, long, strict=False)] + given

    def counts(columns: bool) -> dict[str, tuple[int, int]]:
        operator_graphs.clear()
        env = local_environment(parallelism, {"rekindle.columns.enabled": str(columns).lower()})
        rows = env.from_data_frame(given, "rows").filter(lambda row: row.k != 13)
        pairs = rows.filter(lambda row: row.price < 95).map(lambda row: (row.k, row.price, row.amount))
        doubled = pairs.map(lambda pair: (pair[0], pair[1] * 4, pair[2]))
        results = doubled.key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1], b[2]))
        list(results.execute_and_collect())
        found: dict[str, tuple[int, int]] = {}
        for running in (running for graph in operator_graphs for running in graph):
            before = found.get(running.node.uid, (0, 0))
            found[running.node.uid] = before[0] + running.records_in, before[1] + running.records_out
        return found

    assert counts(True) == counts(False)


class Turnovers(AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator + value.v

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a + acc_b


@ON_AND_OFF
def test_a_window_that_is_kept_for_late_records_fires_again_behind_a_savepoint(tmp_path: Path, columns: bool) -> None:
    def results(env: LocalEnvironment, given: list[pa.Table]) -> Any:
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(RowTime())
        keyed = env.from_data_frame(given, "rows").assign_timestamps_and_watermarks(strategy).key_by(lambda row: row.k)
        windows = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(100))).allowed_lateness(1_000)
        return windows.aggregate(Turnovers()).uid("windows").execute_and_collect()

    def table(*rows: tuple[int, int, int]) -> pa.Table:
        return pa.table(dict(zip("kvt", zip(*rows, strict=True), strict=True)))

    path = str(tmp_path / "savepoint")
    env = environment(tmp_path, columns, 1)
    idle = table((1, 1, 0)).slice(0, 0)
    masters: list[Any] = []
    submit = env._submit
    env._submit = lambda *given: masters.append(submit(*given)) or masters[0]  # type: ignore[method-assign,func-returns-value]
    with results(env, [table((1, 5, 10), (1, 7, 500)), *[idle] * 5_000]) as found:
        first = next(iter(found))
        savepoint = masters[0].stop_with_savepoint(path, False).result(60)
    assert first == 5
    again = environment(tmp_path, columns, 1, **{"execution.state-recovery.path": savepoint})
    # The watermark begins anew, and the record is not late: the window fires when it passes once more.
    with results(again, [*[idle] * 5_001, table((1, 2, 20)), table((1, 9, 900))]) as found:
        assert list(found) == [7, 7, 9]


OLD = pa.table({"k": [1] * 5, "v": [9, 5, 6, 5, 6], "w": [900, 100, 200, 100, 200], "t": [10, 500, 510, 520, 530]})
NEW = pa.table({"k": [1] * 4, "w": [7, 8, 7, 8], "v": [50, 60, 2, 3], "t": [540, 550, 560, 570]})
FOLDED = "columns, folded before the exchange"


def running_sum(keyed: Any) -> Any:
    return keyed.sum("v")


@pytest.mark.parametrize(
    ("path", "reduced", "expected"),
    [
        ("columns", running_sum, [f"Row(k=1, v={v}, w=900, t=10)" for v in (81, 141, 143, 146)]),
        ("columns", lambda windows: windows.allowed_lateness(1).max_by("v"), ["Row(k=1, w=8, v=60, t=550)"]),
        (FOLDED, lambda windows: windows.sum("v"), ["Row(k=1, v=137, w=100, t=500)"]),
    ],
)
def test_rows_in_a_savepoint_are_read_by_name_though_columns_come_in_another_order(
    tmp_path: Path, path: str, reduced: Any, expected: list[str]
) -> None:
    def results(env: LocalEnvironment, given: list[pa.Table]) -> Any:
        rows = env.from_data_frame(given, "rows")
        if reduced is not running_sum:
            strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(RowTime())
            rows = rows.assign_timestamps_and_watermarks(strategy)
        keyed: Any = rows.key_by(lambda row: row.k)
        if reduced is not running_sum:
            keyed = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(100)))
        result = reduced(keyed).uid("reduced")
        assert env._compile().nodes[-1].path == path
        return result.execute_and_collect()

    savepoint = str(tmp_path / "savepoint")
    env = environment(tmp_path, True, 1)
    masters: list[Any] = []
    submit = env._submit
    env._submit = lambda *given: masters.append(submit(*given)) or masters[0]  # type: ignore[method-assign,func-returns-value]
    with results(env, [OLD, *[OLD.slice(0, 0)] * 5_000]) as found:
        seen = iter(found)
        for _ in range(5 if reduced is running_sum else 1):
            next(seen)
        savepoint = masters[0].stop_with_savepoint(savepoint, False).result(60)
    again = environment(tmp_path, True, 1, **{"execution.state-recovery.path": savepoint})
    with results(again, [*[NEW.slice(0, 0)] * 5_001, NEW]) as found:
        assert list(map(repr, found)) == expected


class Nothing(Turnovers):
    def create_accumulator(self) -> Any:
        return None

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator


def test_accumulators_that_are_none_are_left_to_the_loop_which_keeps_no_state_for_them() -> None:
    with pytest.raises(NotTraceable, match="create_accumulator returns None"):
        fold_of(Nothing(), Shape.row(["v"]))
    last = Fold((FieldFold(FoldKind.LAST, Field(0)),), Shape.value(), (0,), Shape.row(["v"]))
    with pytest.raises(NotColumnar, match="accumulators that are None"):
        fold_input(last, [pa.array([1, None])], 2)

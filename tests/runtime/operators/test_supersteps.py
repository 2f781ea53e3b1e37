"""Iterations in rounds: all of a round is done before the next one begins, on bounded input."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from rekindle.checkpoint.storage import checkpoint_files
from rekindle.common import Time, Types, WatermarkStrategy
from rekindle.datastream import (
    CoMapFunction,
    DataStream,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.state import ListStateDescriptor, ValueStateDescriptor
from rekindle.datastream.window import TumblingEventTimeWindows
from rekindle.exceptions import InvalidProgramError
from rekindle.graph.partitioning import FORWARD
from rekindle.graph.stream_graph import StreamEdge
from rekindle.graph.transformations.sources import RowsTransformation
from support.in_process_job import InProcessJob, collect
from support.seeds import seeds

ONE_ROUND = TumblingEventTimeWindows.of(Time.milliseconds(1))


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def numbers(env: StreamExecutionEnvironment, first: int, last: int) -> DataStream:
    return env.from_source(NumberSequenceSource(first, last), WatermarkStrategy.no_watermarks(), "numbers")


def data_frame(env: StreamExecutionEnvironment, bounded: bool) -> DataStream:
    node = env._graph.add("frame", RowsTransformation(), (), data_frame="stands for one", bounded=bounded, uid="frame")
    return DataStream(env, (StreamEdge(node.id, FORWARD),), node)


# --- rounds ---


class NotesRounds(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._context = runtime_context

    def map(self, value: int) -> tuple[int, int]:
        return self._context.get_superstep_number(), value


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_all_of_a_round_is_done_before_the_next_one_begins(parallelism: int) -> None:
    env = environment()
    loop = numbers(env, 1, 9).iterate(max_iterations=3)
    noted = loop.rebalance().map(NotesRounds())
    collect(noted.map(lambda item: ("round", *item)))
    last = loop.close_with(noted.map(lambda item: item[1] * 10))
    collect(last.map(lambda value: ("last", value)))
    with InProcessJob(env, parallelism) as job:
        seen = job.run_to_end(max_records=2)
    rounds = [item for item in seen if item[0] == "round"]
    assert [number for _, number, _ in rounds] == sorted(number for _, number, _ in rounds)
    assert sorted(rounds) == [("round", i, n * 10 ** (i - 1)) for i in (1, 2, 3) for n in range(1, 10)]
    assert sorted(item for item in seen if item[0] == "last") == [("last", n * 1_000) for n in range(1, 10)]


def test_rounds_end_when_nothing_is_fed_back() -> None:
    env = environment()
    loop = numbers(env, 1, 5).iterate(max_iterations=100)
    noted = loop.map(NotesRounds())
    collect(noted)
    last = loop.close_with(noted.map(lambda item: item[1] - 1).filter(lambda n: n > 0))
    collect(last.map(lambda n: ("last", n)))
    with InProcessJob(env, 2) as job:
        seen = job.run_to_end()
    assert sorted(seen) == [(i, n) for i in range(1, 6) for n in range(1, 7 - i)], "the last round fed nothing back"


def test_rounds_end_when_the_criterion_is_empty() -> None:
    env = environment()
    loop = numbers(env, 1, 4).iterate()
    doubled = loop.map(lambda n: n * 2)
    last = loop.close_with(doubled, doubled.filter(lambda n: n < 40))
    collect(last)
    with InProcessJob(env, 3) as job:
        assert sorted(job.run_to_end()) == [64, 128, 192, 256], "after 6 rounds all are 40 or more"


def test_the_maximum_holds_though_the_criterion_does_not() -> None:
    env = environment()
    loop = numbers(env, 1, 4).iterate(max_iterations=2)
    doubled = loop.map(lambda n: n * 2)
    collect(loop.close_with(doubled, doubled))
    with InProcessJob(env, 2) as job:
        assert sorted(job.run_to_end()) == [4, 8, 12, 16]


def test_without_input_the_result_is_empty() -> None:
    env = environment()
    loop = env.from_collection([]).iterate(max_iterations=3)
    collect(loop.close_with(loop.map(lambda n: n)))
    with InProcessJob(env, 2) as job:
        assert job.run_to_end() == []


def test_time_in_the_loop_is_the_number_of_the_round() -> None:
    class Times(ProcessFunction):
        def process_element(self, value: int, ctx: Any) -> Any:
            yield value, ctx.timestamp(), ctx.timer_service().current_watermark()

    env = environment()
    loop = env.from_collection([5]).iterate(max_iterations=3)
    times = loop.rebalance().process(Times())
    collect(times)
    loop.close_with(times.map(lambda item: item[0]))
    with InProcessJob(env, 2) as job:
        assert job.run_to_end() == [(5, 1, -(1 << 63)), (5, 2, 1), (5, 3, 2)]


class Rounds(KeyedProcessFunction):
    """Sum up the values of a key when all of a round have come."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.INT()))

    def process_element(self, value: tuple[int, int], ctx: Any) -> None:
        self._sum.update((self._sum.value() or 0) + value[1])
        ctx.timer_service().register_event_time_timer(ctx.timestamp())

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), self._sum.value()


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_timers_fire_at_the_end_of_the_round_and_state_outlives_it(parallelism: int) -> None:
    env = environment()
    loop = numbers(env, 1, 12).map(lambda n: (n % 3, n)).iterate(max_iterations=3)
    sums = loop.key_by(lambda item: item[0]).process(Rounds())
    collect(loop.close_with(sums))
    golden = dict.fromkeys(range(3), 0)
    fed = [(n % 3, n) for n in range(1, 13)]
    for _ in range(3):
        for key, value in fed:
            golden[key] += value
        fed = list(golden.items())
    with InProcessJob(env, parallelism) as job:
        assert dict(job.run_to_end(max_records=3)) == golden


def test_iterations_in_rounds_may_follow_one_another_and_run_beside_loops_without() -> None:
    env = environment()
    first = numbers(env, 1, 3).iterate(max_iterations=2)
    second = first.close_with(first.map(lambda n: n + 10)).iterate(max_iterations=3)
    collect(second.close_with(second.map(lambda n: n + 100)))
    beside = env.from_collection([9]).iterate()
    beside.close_with(beside.map(lambda n: n - 1).filter(lambda n: n > 0))
    collect(beside)
    with InProcessJob(env, 2) as job:
        assert sorted(job.run_to_end()) == [*range(1, 10), 321, 322, 323]


def test_feedback_of_another_type_runs_in_rounds_too() -> None:
    class Longer(CoMapFunction):
        def map1(self, value: int) -> str:
            return str(value)

        def map2(self, value: str) -> str:
            return value + "'"

    env = environment()
    loop = env.from_collection([1, 2], Types.INT()).iterate(max_iterations=4).with_feedback_type(Types.STRING())
    collect(loop.close_with(loop.map(Longer(), Types.STRING())))
    with InProcessJob(env, 2) as job:
        assert sorted(job.run_to_end()) == ["1'''", "2'''"]


def test_input_from_spark_is_gathered_before_round_one() -> None:
    env = environment()
    loop = data_frame(env, bounded=True).map(lambda row: row.n).iterate(max_iterations=3)
    noted = loop.map(NotesRounds())
    collect(noted)
    collect(loop.close_with(noted.map(lambda item: item[1] + 1)).map(lambda n: ("last", n)))
    rows = [pa.RecordBatch.from_pydict({"n": [n, n + 10]}) for n in (1, 2, 3)]
    with InProcessJob(env, 2) as job:
        head = job.graph.nodes[job.graph.iterations[0].head]
        assert head.level == 1, "level 0 has tasks only where a source has something"
        job.run_epoch(rows={0: rows[:2]})
        assert job.collected == []
        job.run_epoch(rows={0: rows[2:]}, ended=[0])
        seen = job.run_to_end()
    started = [1, 11, 2, 12, 3, 13]
    assert sorted(n for n in seen if n[0] != "last") == sorted((i + 1, n + i) for n in started for i in range(3))
    assert sorted(n for n in seen if n[0] == "last") == sorted(("last", n + 3) for n in started)


def test_rounds_need_input_that_ends() -> None:
    env = environment()
    loop = data_frame(env, bounded=False).iterate(max_iterations=3)
    loop.close_with(loop.map(lambda n: n))
    with pytest.raises(InvalidProgramError, match="source 'frame' never ends"):
        InProcessJob(env)


def test_rounds_are_closed_once() -> None:
    loop = environment().from_collection([1]).iterate(max_iterations=3)
    loop.close_with(loop.map(lambda n: n))
    with pytest.raises(InvalidProgramError, match="is closed already"):
        loop.close_with(loop.map(lambda n: n))


# --- connected components ---


def random_graph(seed: int) -> tuple[int, list[tuple[int, int]]]:
    rng = random.Random(seed)
    vertices = 30
    path = [(v, v + 1) for v in range(6)]  # takes as many rounds as it is long
    return vertices, path + [(rng.randrange(7, vertices), rng.randrange(7, vertices)) for _ in range(14)]


def components(vertices: int, edges: list[tuple[int, int]]) -> dict[int, int]:
    labels = dict(zip(range(vertices), range(vertices), strict=True))
    while True:
        changed = False
        for a, b in edges:
            low = min(labels[a], labels[b])
            changed = changed or labels[a] != low or labels[b] != low
            labels[a] = labels[b] = low
        if not changed:
            return labels


class Spread(KeyedCoProcessFunction):
    """Keep the neighbours of a vertex; give its label to itself and to them."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._neighbours = runtime_context.get_list_state(ListStateDescriptor("neighbours", Types.INT()))

    def process_element1(self, label: tuple[int, int], ctx: Any) -> Any:
        vertex, component = label
        yield vertex, component
        for neighbour in self._neighbours:
            yield neighbour, component

    def process_element2(self, edge: tuple[int, int], ctx: Any) -> None:
        self._neighbours.add(edge[1])


class Changed(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._label = runtime_context.get_state(ValueStateDescriptor("label", Types.INT()))

    def process_element(self, label: tuple[int, int], ctx: Any) -> Any:
        if self._label.value() != label[1]:
            self._label.update(label[1])
            yield label


def components_job(seed: int, max_iterations: int | None = None) -> StreamExecutionEnvironment:
    vertices, edges = random_graph(seed)
    env = environment()
    both_ways = env.from_collection([*edges, *((b, a) for a, b in edges)])
    loop = env.from_collection([(v, v) for v in range(vertices)]).iterate(max_iterations=max_iterations)
    spread = loop.connect(both_ways).key_by(lambda label: label[0], lambda edge: edge[0]).process(Spread())
    lowest = spread.key_by(lambda label: label[0]).window(ONE_ROUND).reduce(min)
    changed = lowest.key_by(lambda label: label[0]).process(Changed())
    collect(loop.close_with(lowest, changed))
    return env


@pytest.mark.parametrize("parallelism", [1, 2, 3])
@pytest.mark.parametrize("seed", seeds(2))
def test_connected_components_by_label_propagation(seed: int, parallelism: int) -> None:
    with InProcessJob(components_job(seed), parallelism) as job:
        labels = job.run_to_end(max_records=10)
    assert len(labels) == 30
    assert dict(labels) == components(*random_graph(seed))


def test_too_few_rounds_leave_components_apart() -> None:
    with InProcessJob(components_job(1, max_iterations=2), 2) as job:
        labels = dict(job.run_to_end())
    assert [labels[v] for v in range(7)] == [0, 0, 0, 1, 2, 3, 4], "a label moves one edge a round"


# --- k-means ---

POINTS = [random.Random(n).gauss(centre, 1.5) for centre in (0, 10, 25) for n in range(centre, centre + 15)]
CENTROIDS = [(0, 1.0), (1, 2.0), (2, 3.0)]


def nearest(point: float, centroids: dict[int, float]) -> int:
    return min(centroids, key=lambda number: (abs(centroids[number] - point), number))


class Assign(KeyedCoProcessFunction):
    """Keep the points; when all centroids of a round are there, say which is nearest to each point."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._points = runtime_context.get_list_state(ListStateDescriptor("points", Types.DOUBLE()))
        self._centroids = runtime_context.get_state(ValueStateDescriptor("centroids", Types.PICKLED_BYTE_ARRAY()))

    def process_element1(self, point: float, ctx: Any) -> None:
        self._points.add(point)

    def process_element2(self, centroid: tuple[int, float], ctx: Any) -> None:
        self._centroids.update((self._centroids.value() or {}) | {centroid[0]: centroid[1]})
        ctx.timer_service().register_event_time_timer(ctx.timestamp())

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        centroids = self._centroids.value()
        for point in self._points:
            number = nearest(point, centroids)
            yield number, point, 1, centroids[number]


def k_means_job(max_iterations: int | None, until: float | None) -> StreamExecutionEnvironment:
    env = environment()
    points = env.from_collection(POINTS).rebalance().map(lambda point: point)
    loop = env.from_collection(CENTROIDS).iterate(max_iterations=max_iterations)
    assigned = points.connect(loop).key_by(lambda _: 0, lambda _: 0).process(Assign())
    sums = (
        assigned.key_by(lambda item: item[0])
        .window(ONE_ROUND)
        .reduce(lambda a, b: (a[0], a[1] + b[1], a[2] + b[2], a[3]))
    )
    moved = sums.map(lambda item: (item[0], round(item[1] / item[2], 9), item[3]))
    feedback = moved.map(lambda item: item[:2])
    still = None if until is None else moved.filter(lambda item: abs(item[1] - item[2]) > until)
    collect(loop.close_with(feedback, still))
    return env


def k_means_golden(max_iterations: int | None, until: float | None) -> dict[int, float]:
    centroids = dict(CENTROIDS)
    rounds = 0
    while True:
        rounds += 1
        groups: dict[int, list[float]] = {}
        for point in POINTS:
            groups.setdefault(nearest(point, centroids), []).append(point)
        after = {number: sum(group) / len(group) for number, group in groups.items()}
        moved = max(abs(after[number] - centroids[number]) for number in after)
        centroids = after
        if rounds == max_iterations or (until is not None and moved <= until):
            return centroids


@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize(
    ("max_iterations", "until"), [(1, None), (3, None), (None, 1e-6), (2, 1e-6)], ids=["1", "3", "until", "2 or until"]
)
def test_k_means(parallelism: int, max_iterations: int | None, until: float | None) -> None:
    with InProcessJob(k_means_job(max_iterations, until), parallelism) as job:
        centroids = dict(job.run_to_end())
    assert centroids == pytest.approx(k_means_golden(max_iterations, until))


# --- checkpoints ---


@pytest.mark.parametrize("parallelisms", [(2, 2), (1, 3), (3, 1)], ids=str)
@pytest.mark.parametrize("epochs", range(1, 11))
def test_rounds_go_on_from_a_checkpoint(tmp_path: Path, epochs: int, parallelisms: tuple[int, int]) -> None:
    """Whenever it is taken: while the input is gathered, between rounds, after the end."""
    files = checkpoint_files(str(tmp_path))
    before, after = parallelisms
    with InProcessJob(components_job(1), before, files=files) as job:
        for _ in range(epochs):
            job.run_epoch(max_records=40)
        checkpoint = job.checkpoint()
        kept = list(job.collected)
        job.run_epoch()  # is lost
    with InProcessJob(components_job(1), after, files=files, restore=checkpoint, attempt=1) as job:
        assert sorted(kept + job.run_to_end()) == sorted(components(*random_graph(1)).items())


@pytest.mark.parametrize("epochs", range(1, 10))
def test_the_criterion_of_the_last_round_is_in_the_checkpoint(tmp_path: Path, epochs: int) -> None:
    def program() -> StreamExecutionEnvironment:
        env = environment()
        loop = numbers(env, 1, 4).iterate()
        doubled = loop.map(lambda n: n * 2)
        collect(loop.close_with(doubled, doubled.filter(lambda n: n < 40)))
        return env

    files = checkpoint_files(str(tmp_path))
    with InProcessJob(program(), 2, files=files) as job:
        for _ in range(epochs):
            job.run_epoch()
        checkpoint = job.checkpoint()
        kept = list(job.collected)
    with InProcessJob(program(), 3, files=files, restore=checkpoint, attempt=1) as job:
        assert sorted(kept + job.run_to_end()) == [64, 128, 192, 256]

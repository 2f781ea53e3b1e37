"""Whatever fails, and whenever, loops and rounds give what they give without failures."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rekindle.checkpoint.storage import checkpoint_files
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.common import Time, Types, WatermarkStrategy
from rekindle.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.datastream.window import TumblingEventTimeWindows
from support.in_process_job import InProcessJob, collect
from support.seeds import seeds

KEYS = 5
NUMBERS = 60


class Visits(KeyedProcessFunction):
    """Number the visits of a key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._visits = runtime_context.get_state(ValueStateDescriptor("visits", Types.INT()))

    def process_element(self, value: tuple[int, int], ctx: Any) -> Any:
        visits = (self._visits.value() or 0) + 1
        self._visits.update(visits)
        yield (*value, visits)


def environment_with_numbers() -> tuple[StreamExecutionEnvironment, Any]:
    env = StreamExecutionEnvironment.get_execution_environment()
    numbers = env.from_source(NumberSequenceSource(1, NUMBERS), WatermarkStrategy.no_watermarks(), "numbers")
    return env, numbers.map(lambda n: (n, n % 7))


def loop() -> StreamExecutionEnvironment:
    env, items = environment_with_numbers()
    head = items.iterate()
    visited = head.key_by(lambda item: (item[0] + item[1]) % KEYS).process(Visits())
    head.close_with(visited.filter(lambda item: item[1] > 0).map(lambda item: (item[0], item[1] - 1)))
    collect(visited)
    return env


def check_loop(results: list[tuple[int, int, int]]) -> None:
    turns = Counter((n, left) for n, left, _ in results)
    assert turns == Counter((n, left) for n in range(1, NUMBERS + 1) for left in range(n % 7 + 1))
    visits = Counter(((n + left) % KEYS, visit) for n, left, visit in results)
    total = Counter((n + left) % KEYS for n, left, _ in results)
    assert visits == Counter((key, visit) for key, count in total.items() for visit in range(1, count + 1))


def rounds() -> StreamExecutionEnvironment:
    """Add up each key's numbers in rounds, and deal the sum out to the next keys."""
    env, items = environment_with_numbers()
    head = items.map(lambda item: (item[0] % KEYS, item[0])).iterate(max_iterations=6)
    sums = (
        head.key_by(lambda item: item[0])
        .window(TumblingEventTimeWindows.of(Time.milliseconds(1)))
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
    )
    passed_on = sums.flat_map(lambda item: [(item[0], item[1] // 2), ((item[0] + 1) % KEYS, item[1] - item[1] // 2)])
    collect(head.close_with(passed_on.rebalance()))
    return env


def check_rounds(results: list[tuple[int, int]]) -> None:
    items = [(n % KEYS, n) for n in range(1, NUMBERS + 1)]
    for _ in range(6):
        sums: Counter[int] = Counter()
        for key, number in items:
            sums[key] += number
        items = [
            part for key, n in sums.items() for part in ((key, n // 2), ((key + 1) % KEYS, n - n // 2))
        ]  # what each key passes on
    assert Counter(results) == Counter(items)


def run_with_failures(program: Callable[[], StreamExecutionEnvironment], files: Any, rng: random.Random) -> list[Any]:
    kept: list[Any] = []
    restore: StoredCheckpoint | None = None
    for attempt in range(5):
        job = InProcessJob(program(), rng.randint(1, 4), files=files, restore=restore, attempt=attempt)
        with job:
            if attempt == 4:
                return kept + job.run_to_end(rng.randint(3, 30))
            finished = False
            for _ in range(rng.randint(1, 4)):
                finished = finished or all(r.finished for r in job.run_epoch(rng.randint(3, 30)))
            restore = job.checkpoint()
            kept += job.collected
            for _ in range(rng.randint(0, 2) if not finished else 0):
                job.run_epoch()  # is lost
    raise AssertionError("the last attempt ends")


@pytest.mark.parametrize("seed", seeds(6, named=12))
@pytest.mark.parametrize(("program", "check"), [(loop, check_loop), (rounds, check_rounds)], ids=["loop", "rounds"])
def test_failures_and_other_parallelisms_change_nothing(
    tmp_path: Path, program: Callable[[], StreamExecutionEnvironment], check: Callable[[list[Any]], None], seed: int
) -> None:
    check(run_with_failures(program, checkpoint_files(str(tmp_path)), random.Random(seed)))

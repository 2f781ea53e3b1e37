"""The job that fault tests run, and its golden result computed in plain Python.

Events are numbers. Each belongs to a key; a keyed function numbers the events of its key one by one in state and emits
(key, number, sum so far). Whatever happens on the way, the output must hold each number of each key exactly once (at
least once in that mode), and the sums at the highest numbers must be right.
"""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rekindle.common import Configuration, Encoder, RestartStrategies, WatermarkStrategy
from rekindle.datastream import (
    CheckpointingMode,
    CheckpointStorage,
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from rekindle.datastream.connectors.file_system import BucketAssigner, FileSink
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from rekindle.testing import InProcessCluster, local_environment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEYS = 50


def key_of(event: int) -> str:
    return f"key-{event * 7919 % KEYS}"


class Numbering(KeyedProcessFunction):
    """Number the events of a key, in a value, a list and a map state at once."""

    def __init__(self, trouble: Callable[[int, RuntimeContext], None] | None = None) -> None:
        self._trouble = trouble

    def open(self, runtime_context: RuntimeContext) -> None:
        self._context = runtime_context
        self._count = runtime_context.get_state(ValueStateDescriptor("count", None))
        self._recent = runtime_context.get_list_state(ListStateDescriptor("recent", None))
        self._sums = runtime_context.get_map_state(MapStateDescriptor("sums", None, None))

    def process_element(self, value: int, ctx: Any) -> Iterator[str]:
        if self._trouble is not None:
            self._trouble(value, self._context)
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        recent = [*self._recent.get(), value][-3:]
        self._recent.update(recent)
        total = (self._sums.get("total") or 0) + value
        self._sums.put("total", total)
        assert len(recent) == min(3, count), "the list state does not fit the value state"
        yield f"{ctx.get_current_key()},{count},{total}"


@dataclass(frozen=True)
class Verdict:
    lost: int
    duplicated: int
    wrong_sums: int
    written: int


def environment(
    cluster: SparkSession | InProcessCluster,
    checkpoints: str | CheckpointStorage | None,
    mode: CheckpointingMode = CheckpointingMode.EXACTLY_ONCE,
    interval: int | None = None,
    restarts: int = 20,
    **settings: str,
) -> StreamExecutionEnvironment:
    """Make an environment with checkpoints as fast as epochs are, and quick restarts.

    Args:
        cluster: What its jobs run on: Spark, or this process.
        checkpoints: A directory or a storage; None: there are no checkpoints.
        mode: What checkpoints promise.
        interval: Milliseconds between checkpoints; by default about as long as an epoch takes.
        restarts: How many there may be.
        settings: More of them, ``_`` for a dot in their keys and ``__`` for a dash.
    """
    in_process = isinstance(cluster, InProcessCluster)  # epochs take a tenth of the time, and have a tenth in them
    options = {"rekindle.progress": "none", "rekindle.epoch.max-records": "200" if in_process else "2000"}
    options |= {key.replace("__", "-").replace("_", "."): value for key, value in settings.items()}
    env = environment_on(cluster, options)
    env.set_parallelism(2)
    if checkpoints is not None:
        env.enable_checkpointing(interval or (10 if in_process else 100), mode)
        storage = f"file://{checkpoints}" if isinstance(checkpoints, str) else checkpoints
        env.get_checkpoint_config().set_checkpoint_storage(storage)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(restarts, 0))
    return env


def environment_on(
    cluster: SparkSession | InProcessCluster | None, options: Mapping[str, str]
) -> StreamExecutionEnvironment:
    """Make an environment whose jobs run on Spark or in this process; None: on the Spark that there is."""
    configuration = Configuration.from_dict(dict(options))
    if isinstance(cluster, InProcessCluster):
        return local_environment(configuration=configuration, cluster=cluster)
    return StreamExecutionEnvironment.get_execution_environment(configuration, cluster)


def events(env: StreamExecutionEnvironment, count: int) -> DataStream:
    """Make the stream of events."""
    return env.from_source(NumberSequenceSource(1, count), WatermarkStrategy.no_watermarks(), "events").uid("events")


def numbering_job(
    env: StreamExecutionEnvironment,
    count: int,
    output: str,
    trouble: Callable[[int, RuntimeContext], None] | None = None,
    source: DataStream | None = None,
) -> None:
    """Write the job down."""
    sink = FileSink.for_row_format(output, Encoder.simple_string_encoder())
    stream = source or events(env, count)
    (
        stream.key_by(key_of)
        .process(Numbering(trouble))
        .name("numbering")
        .uid("numbering")
        .sink_to(sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build())
        .uid("sink")
    )


def read_output(output: str) -> list[str]:
    """Read all finished files."""
    lines: list[str] = []
    for path in sorted(glob.glob(os.path.join(output, "part-*"))):
        with open(path) as file:
            lines += file.read().splitlines()
    return lines


def judge(count: int, output: str) -> Verdict:
    """Compare the output with the golden result."""
    expected: Counter[tuple[str, int]] = Counter()
    sums: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for event in range(1, count + 1):
        key = key_of(event)
        counts[key] += 1
        sums[key] += event
        expected[key, counts[key]] += 1
    written: Counter[tuple[str, int]] = Counter()
    highest: dict[str, tuple[int, int]] = {}
    for line in read_output(output):
        key, number, total = line.split(",")
        written[key, int(number)] += 1
        highest[key] = max(highest.get(key, (0, 0)), (int(number), int(total)))
    wrong = sum(highest.get(key) != (counts[key], sums[key]) for key in counts)
    return Verdict((expected - written).total(), (written - expected).total(), wrong, written.total())


def assert_exactly_once(count: int, output: str) -> None:
    """Require the golden result, and nothing hidden left over."""
    verdict = judge(count, output)
    assert verdict == Verdict(lost=0, duplicated=0, wrong_sums=0, written=count)
    assert [name for name in os.listdir(output) if name.startswith(".")] == []

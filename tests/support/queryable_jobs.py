"""Jobs whose state tests query: fed step by step, in this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rekindle.common import Types
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.datastream.functions import (
    AggregateFunction,
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    KeyedProcessFunction,
    RuntimeContext,
    SourceFunction,
)
from rekindle.datastream.state import (
    AggregatingStateDescriptor,
    FoldingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from rekindle.queryable_state import QueryableStateClient
from rekindle.runtime.master.job_master import JobMaster
from rekindle.testing import InProcessCluster, LocalEnvironment, local_environment
from support.processes import wait_until

KINDS = ("value", "list", "map", "reducing", "aggregating", "folding")
FEEDS: dict[str, Feed] = {}


class Feed:
    """What a job is fed with."""

    def __init__(self) -> None:
        self.records: list[Any] = []
        self.changed = threading.Condition()
        self.ended = False

    def put(self, *records: Any) -> None:
        """Feed the job with records."""
        with self.changed:
            self.records += records
            self.changed.notify_all()

    def end(self) -> None:
        """Let the job end."""
        with self.changed:
            self.ended = True
            self.changed.notify_all()


class Fed(SourceFunction, CheckpointedFunction):
    """Emit what a feed holds, from where it was when the last checkpoint was taken."""

    def __init__(self, feed: str) -> None:
        self._feed = feed
        self._position = 0
        self._running = True

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self._state = store.get_list_state(ListStateDescriptor("position", Types.LONG()))
        self._position = next(iter(self._state.get()), 0)

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self._state.update([self._position])

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        feed = FEEDS[self._feed]
        while self._running:
            with feed.changed:
                feed.changed.wait_for(lambda: len(feed.records) > self._position or feed.ended, 0.02)
                if feed.ended and len(feed.records) <= self._position:
                    return
                new = feed.records[self._position :]
            for record in new:
                with ctx.get_checkpoint_lock():
                    self._position += 1
                    ctx.collect(record)

    def cancel(self) -> None:
        self._running = False


class Mean(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


def descriptor(kind: str, typed: bool = True) -> StateDescriptor:
    """Return the descriptor of a state of a kind."""
    number = Types.LONG() if typed else None
    if kind == "value":
        return ValueStateDescriptor(kind, number)
    if kind == "list":
        return ListStateDescriptor(kind, number)
    if kind == "map":
        return MapStateDescriptor(kind, Types.STRING() if typed else None, number)
    if kind == "reducing":
        return ReducingStateDescriptor(kind, max, number)
    if kind == "aggregating":
        return AggregatingStateDescriptor(kind, Mean(), Types.TUPLE([Types.LONG(), Types.LONG()]) if typed else None)
    return folding(number)


def folding(type_info: Any) -> FoldingStateDescriptor:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return FoldingStateDescriptor("folding", 0, lambda folded, value: folded * 10 + value, type_info)


class KeepsAll(KeyedProcessFunction):
    """Keep the values of a key in a state of every kind; None clears all of them."""

    def __init__(self, typed: bool = True, prepare: Callable[[StateDescriptor], None] | None = None) -> None:
        self._typed = typed
        self._prepare = prepare

    def open(self, runtime_context: RuntimeContext) -> None:
        found: list[Any] = []
        for kind in KINDS:
            described = descriptor(kind, self._typed)
            described.set_queryable(kind)
            if self._prepare is not None:
                self._prepare(described)
            get = "get_state" if kind == "value" else f"get_{kind}_state"
            found.append(getattr(runtime_context, get)(described))
        self._value, self._list, self._map, self._reducing, self._aggregating, self._folding = found

    def process_element(self, value: tuple[Any, int | None], ctx: KeyedProcessFunction.Context) -> None:
        number = value[1]
        if number is None:
            for state in (self._value, self._list, self._map, self._reducing, self._aggregating, self._folding):
                state.clear()
            return
        self._value.update(number)
        self._map.put(str(number), number)
        for state in (self._list, self._reducing, self._aggregating, self._folding):
            state.add(number)


def expected(kind: str, numbers: list[int]) -> Any:
    """Return what a query of a key gives whose values these were."""
    match kind:
        case "value":
            return numbers[-1]
        case "list":
            return numbers
        case "map":
            return {str(number): number for number in numbers}
        case "reducing":
            return max(numbers)
        case "aggregating":
            return sum(numbers) / len(numbers)
        case _:
            return int("".join(map(str, numbers)))


def read(kind: str, state: Any) -> Any:
    """Return what is in a state that a query returned."""
    if kind == "value":
        return state.value()
    return dict(state.items()) if kind == "map" else state.get()


class RunningJob:
    """A job that is fed, and a client of its queryable state.

    Attributes:
        feed: What feeds it.
        master: Its job master.
        client: A client of one of its proxies.
    """

    def __init__(self, feed: Feed, master: JobMaster, token: str | None = None) -> None:
        self.feed = feed
        self.master = master
        self.token = token
        self.job_id = master.settings.job_id
        wait_until(lambda: bool(self.proxies()), "the proxies listen")
        self.client = QueryableStateClient(*self.proxies()[0], token)

    def proxies(self) -> list[tuple[str, int]]:
        states = self.master.queryable_states()
        return [] if states is None else states.proxies()

    def ask(self, kind: str, key: Any, consistency: str = "live", typed: bool = True, timeout: float = 60.0) -> Any:
        """Query a state, and return what is in it."""
        key_type = Types.STRING() if typed else None
        asked = self.client.get_kv_state(
            self.job_id, kind, key, key_type, descriptor(kind, typed), consistency, timeout
        )
        return read(kind, asked.result(90))

    def shows(self, kind: str, key: Any, value: Any, consistency: str = "live", typed: bool = True) -> None:
        """Wait until a query gives a value."""
        from rekindle.queryable_state import NoCheckpointError, UnknownKeyError

        def is_there() -> bool:
            try:
                return bool(self.ask(kind, key, consistency, typed) == value)
            except (UnknownKeyError, NoCheckpointError):
                return False

        wait_until(is_there, f"{kind} state of {key!r} is {value!r}")

    def completed_checkpoints(self) -> int:
        return self.master.checkpoint_statistics().counts.completed

    def await_checkpoint(self) -> None:
        """Wait for a checkpoint that began after now."""
        before = self.completed_checkpoints()
        wait_until(lambda: self.completed_checkpoints() >= before + 2, "two checkpoints are complete")


def settings(rocksdb: bool = False, **more: str) -> dict[str, str]:
    """Return the configuration of a job whose state can be queried, at ports that are free."""
    return {
        "queryable-state.enable": "true",
        "queryable-state.server.ports": "0",
        "queryable-state.proxy.ports": "0",
        "state.backend": "rocksdb" if rocksdb else "hashmap",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "20",
        "restart-strategy.fixed-delay.delay": "0 s",
        **{key.replace("__", "-"): value for key, value in more.items()},
    }


@contextmanager
def running(
    build: Callable[[StreamExecutionEnvironment, Any], None],
    configuration: dict[str, str] | None = None,
    parallelism: int = 2,
    cluster: InProcessCluster | None = None,
    feed: Feed | None = None,
    checkpoint_ms: int | None = None,
) -> Iterator[RunningJob]:
    """Run a job that is fed with what its test puts into it.

    Args:
        build: Adds to the environment what follows the source.
        configuration: Its settings; those of :func:`settings` by default.
        parallelism: How many slots it has.
        cluster: What it runs on.
        feed: What it is fed with.
        checkpoint_ms: The time between checkpoints; None: there are none.
    """
    configuration = settings() if configuration is None else configuration
    env: LocalEnvironment = local_environment(parallelism, configuration, cluster)
    if checkpoint_ms is not None:
        env.enable_checkpointing(checkpoint_ms)
    feed = feed or Feed()
    name = f"feed-{id(feed)}"
    FEEDS[name] = feed
    build(env, env.add_source(Fed(name)).uid("source"))
    job = env.execute_async("queried")
    master: JobMaster = job._master
    running_job = None
    try:
        running_job = RunningJob(feed, master, configuration.get("queryable-state.token"))
        yield running_job
    finally:
        if running_job is not None:
            running_job.client.shutdown_and_wait()
        if not master.result.done():
            master.cancel()
        master.result.exception(60)
        del FEEDS[name]


def keeps_all(env: StreamExecutionEnvironment, stream: Any, typed: bool = True) -> None:
    """Keep what comes in states of all kinds."""
    keyed = stream.key_by(lambda record: record[0], Types.STRING() if typed else None)
    keyed.process(KeepsAll(typed)).uid("keeps")

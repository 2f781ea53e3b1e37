"""A job with every kind of state, run in the test's process at parallelism 2, and snapshots of it in every format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from rekindle.checkpoint.restoring import Consent, RestorePath, fit_to_checkpoint
from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.common import Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from rekindle.datastream.functions import (
    AggregateFunction,
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from rekindle.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from rekindle.datastream.window import TumblingEventTimeWindows
from rekindle.graph.compilation.compiler import compile_job
from rekindle.runtime.wire import messages as m
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.rocksdb.settings import RocksDBSettings
from support.in_process_job import InProcessJob, collect

USERS = ["ada", "bob", "cleo", "dan", "eve"]
OTHERS = [f"user-{i}" for i in range(30)]  # so many that a checkpoint which builds on another is worth it
RECORDS = [*((user, 0) for user in OTHERS), *((USERS[i % 5], i) for i in range(40))]
FIRST = 60  # how many are in the checkpoint that an incremental one builds on
_NEVER_READ = [("nobody", 0)] * 8  # the input must not end: then timers and windows would fire


@dataclass(frozen=True)
class Account:
    """Hold a balance: the class of a state."""

    owner: str
    balance: int


class Mean(AggregateFunction):
    """Keep sum and count."""

    def create_accumulator(self) -> Any:
        return 0, 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


ACCOUNT = ValueStateDescriptor("account", Account)
COUNT = ValueStateDescriptor("count", Types.LONG())
AMOUNTS = ListStateDescriptor("amounts", Types.LONG())
BY_PARITY = MapStateDescriptor("by-parity", Types.STRING(), Types.DOUBLE())
TOTAL = ReducingStateDescriptor("total", lambda one, other: one + other, Types.LONG())
MEAN = AggregatingStateDescriptor("mean", Mean(), Types.TUPLE([Types.LONG(), Types.LONG()]))
ANYTHING = ValueStateDescriptor("anything", Types.PICKLED_BYTE_ARRAY())
EXPIRING = ValueStateDescriptor("expiring", Types.LONG())
EXPIRING.enable_time_to_live(StateTtlConfig.new_builder(Time.days(1)).build())


class Everything(KeyedProcessFunction, CheckpointedFunction):
    """Keep what comes in every kind of state; yield all of it for a record of None."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.seen = store.get_list_state(ListStateDescriptor("seen", Types.LONG()))
        self.all = store.get_union_list_state(ListStateDescriptor("all", Types.STRING()))
        self.rules = store.get_broadcast_state(MapStateDescriptor("rules", Types.STRING(), Types.LONG()))
        if not context.is_restored():
            self.rules.put_all({"low": 1, "high": 10})

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        pass

    def open(self, runtime_context: RuntimeContext) -> None:
        self.account = runtime_context.get_state(ACCOUNT)
        self.count = runtime_context.get_state(COUNT)
        self.amounts = runtime_context.get_list_state(AMOUNTS)
        self.by_parity = runtime_context.get_map_state(BY_PARITY)
        self.total = runtime_context.get_reducing_state(TOTAL)
        self.mean = runtime_context.get_aggregating_state(MEAN)
        self.anything = runtime_context.get_state(ANYTHING)
        self.expiring = runtime_context.get_state(EXPIRING)

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        user, amount = value
        if amount is None:
            yield self.contents(user)
            return
        self.account.update(Account(user, (self.account.value() or Account(user, 0)).balance + amount))
        self.count.update((self.count.value() or 0) + 1)
        self.amounts.add(amount)
        parity = "odd" if amount % 2 else "even"
        self.by_parity.put(parity, (self.by_parity.get(parity) or 0.0) + amount)
        self.total.add(amount)
        self.mean.add(amount)
        self.anything.update({"last": (user, amount)})
        self.expiring.update(amount)
        self.seen.add(amount)
        self.all.add(f"{user}-{amount}")
        ctx.timer_service().register_event_time_timer(1_000_000 + amount)

    def contents(self, user: str) -> Any:
        """Return all that a user has."""
        return {
            "user": user,
            "account": self.account.value(),
            "count": self.count.value(),
            "amounts": list(self.amounts.get()),
            "by-parity": dict(self.by_parity.items()),
            "total": self.total.get(),
            "mean": self.mean.get(),
            "anything": self.anything.value(),
            "expiring": self.expiring.value(),
            "rules": dict(self.rules.items()),
        }


class Stamps(TimestampAssigner):
    """Take the amount for the time."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return 0 if value[1] is None else value[1] * 100


def program(records: list[Any] = RECORDS, windows: bool = True) -> StreamExecutionEnvironment:
    """Make the job."""
    environment = StreamExecutionEnvironment.get_execution_environment()
    stream = environment.from_collection(records).uid("records")
    keyed = stream.key_by(lambda record: record[0], Types.STRING())
    collect(keyed.process(Everything()).uid("everything").name("Everything"))
    if windows:
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamps())
        stamped = stream.assign_timestamps_and_watermarks(strategy).uid("stamps")
        windowed = stamped.key_by(lambda record: record[0], Types.STRING()).window(
            TumblingEventTimeWindows.of(Time.seconds(1))
        )
        collect(windowed.reduce(lambda one, other: (one[0], one[1] + other[1])).uid("windows").name("Windows"))
    return environment


def expected(user: str, records: list[Any] = RECORDS) -> dict[str, Any]:
    """Return what a user has in the end."""
    own = [amount for name, amount in records if name == user]
    parities = {"odd": [a for a in own if a % 2], "even": [a for a in own if not a % 2]}
    return {
        "user": user,
        "account": Account(user, sum(own)),
        "count": len(own),
        "amounts": own,
        "by-parity": {name: float(sum(amounts)) for name, amounts in parities.items() if amounts},
        "total": sum(own),
        "mean": sum(own) / len(own),
        "anything": {"last": (user, own[-1])},
        "expiring": own[-1],
        "rules": {"low": 1, "high": 10},
    }


BACKENDS = {
    "heap": BackendSettings(),
    "heap-incremental": BackendSettings(incremental=True),
    "rocksdb": BackendSettings(RocksDBSettings()),
    "rocksdb with timers": BackendSettings(RocksDBSettings(timers=True, timer_cache_size=0)),
    "canonical": BackendSettings(),
    "canonical of rocksdb": BackendSettings(RocksDBSettings()),
    "canonical of rocksdb with timers": BackendSettings(RocksDBSettings(timers=True, timer_cache_size=0)),
}


def take_snapshot(directory: Path, form: str) -> StoredCheckpoint:
    """Run the job up to the end of its records and take a snapshot of the given form."""
    files = LocalCheckpointFiles(str(directory))
    with InProcessJob(program([*RECORDS, *_NEVER_READ]), 2, files=files, backend=BACKENDS[form]) as job:
        job.run_epoch(FIRST)
        job.checkpoint()
        for _ in range((len(RECORDS) - FIRST) // 5):
            job.run_epoch(5)
            if form == "heap-incremental":
                job.checkpoint()
        return take_savepoint(job, directory / "savepoints") if form.startswith("canonical") else job.checkpoint()


def take_savepoint(job: InProcessJob, directory: Path) -> StoredCheckpoint:
    """Take a savepoint below a directory."""
    savepoints = job._executor._savepoints
    future = savepoints.request(str(directory))
    job.clock.advance(1_000)
    assert savepoints.begin(job.coordinator.next_checkpoint_id)
    job._executor.run(job.coordinator, job.coordinator.trigger(job.clock.now(), 0, savepoint=True))
    for _ in job.slots:
        index, answer = job._answers.get(timeout=30)
        assert isinstance(answer, m.SnapshotDone), answer
        then = job.coordinator.acknowledge(
            job.clock.now(), answer.attempt, answer.checkpoint_id, index, answer.snapshot()
        )
        job._executor.run(job.coordinator, then)
    return RestorePath(future.result(0)).current


def restored_contents(
    stored: StoredCheckpoint, parallelism: int, backend: BackendSettings | None = None
) -> dict[str, Any]:
    """Restore the job from a snapshot and ask it for what each user has."""
    asked = [(user, None) for user in USERS]
    # The source has another uid, so that it starts anew: what is asked are its records.
    environment = StreamExecutionEnvironment.get_execution_environment()
    stream = environment.from_collection(asked).uid("questions")
    collect(stream.key_by(lambda record: record[0], Types.STRING()).process(Everything()).uid("everything"))
    graph = fit_to_checkpoint(
        compile_job(environment._graph, parallelism, None), stored.metadata, Consent(unclaimed_state=True)
    )
    with InProcessJob(graph, parallelism, restore=_without_others(stored), backend=backend) as job:
        job.run_epoch()
        return {found["user"]: found for found in job.collected if isinstance(found, dict)}


def _without_others(stored: StoredCheckpoint) -> StoredCheckpoint:
    """Leave out operators that the asking job does not have."""
    own = [operator for operator in stored.metadata.operators if operator.uid == "everything"]
    return StoredCheckpoint(msgspec.structs.replace(stored.metadata, operators=own), stored.files, stored.directory)

"""What checkpoints cost: bytes, stalls, restores and memory of one slot with 1 M keys; throughput of a job on Spark.

One slot, without Spark: it is filled, and takes full snapshots while it goes on processing. Another one takes
incremental ones between which 5 % of the keys change, and is restored from the last. Each is a process of its own, in
which nothing has been freed. Then a job on Spark runs with and without checkpoints, in turn.

    python benchmarks/checkpoints.py [--keys K] [--increments N] [--records N] [--rounds N] [--no-jobs] [--no-slots]
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import pickle
import queue
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import keyed_state
from measuring import Discard, configured, steady, write_pairs

from rekindle.base.clock import SystemClock
from rekindle.checkpoint.metadata import CheckpointMetadata, ListStateMetadata, OperatorMetadata
from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.graph.compilation.compiler import compile_job
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.slot.slot import Slot
from rekindle.runtime.slot.slot_job import RestoredCheckpoint, SlotJob, SnapshotSettings
from rekindle.runtime.wire import messages as m
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.rocksdb.settings import RocksDBSettings

CHUNK = 10_000
CHANGED = 0.05


class Remember(KeyedProcessFunction):
    """Keep the last record of each key."""

    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.last.update(value)
        return iter(())


class OneSlot:
    """Run one slot in this process, and feed its operator directly."""

    def __init__(self, directory: str, backend: BackendSettings, restore: CheckpointMetadata | None = None) -> None:
        environment = StreamExecutionEnvironment.get_execution_environment()
        records = environment.from_collection([(0, "")]).uid("records")
        records.key_by(lambda record: record[0]).process(Remember()).uid("memory").add_sink(Discard()).uid("sink")
        self._files = LocalCheckpointFiles(directory)
        self._backend = backend
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._graph = compile_job(environment._graph, 1, None)
        self._checkpoint = 0
        self._completed: int | None = None
        job = SlotJob(
            job_id="benchmark",
            graph=self._graph,
            snapshots=SnapshotSettings(self._files, 1024, 5 << 20),
            checkpointing=True,
            restore=None
            if restore is None
            else RestoredCheckpoint(restore, self._files, f"benchmark/chk-{restore.checkpoint_id}"),
            epoch_max_ms=1000,
            main_classes={},
            backend=backend,
        )
        self.slot = Slot(job, 0, 0, SystemClock(), self._answers.put)
        self.slot.open()
        self._operator: Any = next(r.operator for r in self.slot._graph if r.node.uid == "memory")

    def process(self, records: list[tuple[int, str]]) -> None:
        """Process records in chunks, as they come from Spark."""
        for start in range(0, len(records), CHUNK):
            chunk = records[start : start + CHUNK]
            self._operator.process(Chunk(chunk, None, [key for key, _ in chunk]))

    def begin(self) -> tuple[float, float]:
        """Begin a checkpoint; give when it began and how long processing stood still."""
        self._checkpoint += 1
        started = time.perf_counter()
        self.slot.snapshot(m.TriggerSnapshot(self._checkpoint, 0, self._completed))
        return started, time.perf_counter() - started

    def poll(self) -> m.SnapshotDone | None:
        """Return the end of the checkpoint, if it has come."""
        try:
            answer = self._answers.get_nowait()
        except queue.Empty:
            return None
        if not isinstance(answer, m.SnapshotDone):
            raise SystemExit(f"the checkpoint failed: {answer}")
        self._completed = self._checkpoint
        self.slot.notify_complete(m.NotifyComplete(self._checkpoint))
        self._answers.get()
        return answer

    def checkpoint(self) -> m.SnapshotDone:
        """Take a checkpoint and wait for it."""
        self.begin()
        while (done := self.poll()) is None:
            time.sleep(0.001)
        return done

    def metadata(self, done: m.SnapshotDone) -> CheckpointMetadata:
        """Describe a checkpoint as the job master would."""
        operators = [
            OperatorMetadata(
                op.uid,
                op.uid,
                1,
                128,
                op.keyed_states,
                {name: ListStateMetadata(size.mode, [size.items]) for name, size in op.list_states.items()},
            )
            for op in done.operators
        ]
        return CheckpointMetadata(self._checkpoint, "benchmark", "", 0, 0, operators, [done.handle], [])


def slots(keys: int, increments: int) -> None:
    """Measure one slot with each backend."""
    for name, rocksdb in (("heap", None), ("RocksDB", RocksDBSettings())):
        print(f"\n{name}, one slot, {keys:,} keys")
        for measure in (full_checkpoints, incremental_checkpoints):
            with tempfile.TemporaryDirectory(prefix="rekindle-benchmark-") as directory:
                process = multiprocessing.Process(target=measure, args=(rocksdb, directory, keys, increments))
                process.start()
                process.join()
                if process.exitcode != 0:
                    raise SystemExit(f"{measure.__name__} ended with {process.exitcode}")


def full_checkpoints(rocksdb: RocksDBSettings | None, directory: str, keys: int, rounds: int) -> None:
    """Measure full checkpoints while processing goes on, and print medians.

    Processing is timed on its own before and after each of them. Changes are not noted, as there are no increments.
    """
    rng = random.Random(1)
    slot = filled(OneSlot(directory, BackendSettings(rocksdb)), rng, keys)
    records = [(rng.randrange(keys), "x" * 40) for _ in range(200_000)]

    def alone() -> float:
        started = time.perf_counter()
        for _ in range(3):
            slot.process(records)
        return 3 * len(records) / (time.perf_counter() - started)

    slot.process(records)
    durations, stalls, ratios = [], [], []
    before = alone()
    for _ in range(min(rounds, 5)):
        began, stall = slot.begin()
        processed, done = 0, None
        while done is None:
            start = processed % len(records)
            slot.process(records[start : start + CHUNK])
            processed += CHUNK
            done = slot.poll()
        duration = time.perf_counter() - began
        after = alone()
        durations.append(duration)
        stalls.append(stall)
        ratios.append(processed / (duration - stall) / ((before + after) / 2))
        before = after
    duration, stall = statistics.median(durations), statistics.median(stalls)
    print(f"a full checkpoint              {duration * 1000:10.0f} ms, {done.handle.written / 1e6:.1f} MB")
    print(f"  processing stands still for  {stall * 1000:10.1f} ms   {stall / duration:6.1%} of its duration")
    print(f"  throughput beside it         {statistics.median(ratios):10.2f} of that before and after it")
    slot.slot.close(job_over=True)


def filled(slot: OneSlot, rng: random.Random, keys: int) -> OneSlot:
    """Give a slot a record for each key."""
    for start in range(0, keys, 100_000):
        slot.process([(key, value(rng, key)) for key in range(start, min(keys, start + 100_000))])
    gc.collect()
    return slot


def incremental_checkpoints(rocksdb: RocksDBSettings | None, directory: str, keys: int, increments: int) -> None:
    """Measure memory, incremental checkpoints, and a restore from the last of them."""
    rng = random.Random(1)
    backend = BackendSettings(rocksdb, incremental=True)
    # What a plain dict takes for the same: made first, so that freed memory of something else does not hide it.
    before = memory()
    plain = {key: (key, value(rng, key)) for key in range(keys)}
    in_dict = (memory() - before) / keys
    pickled = pickle.dumps(plain, 5)
    started = time.perf_counter()
    pickle.loads(pickled)
    unpickling = time.perf_counter() - started
    del plain, pickled
    gc.collect()

    slot = OneSlot(directory, backend)
    before = memory()
    filled(slot, rng, keys)
    print(f"memory per key                 {(memory() - before) / keys:10.0f} bytes   a dict's: {in_dict:.0f} bytes")
    slot.checkpoint()
    written, changed, stalls = [], [], []
    for _ in range(increments):
        touched = [(key, value(rng, key)) for key in rng.sample(range(keys), int(keys * CHANGED))]
        slot.process(touched)
        _, stall = slot.begin()
        while (done := slot.poll()) is None:
            time.sleep(0.001)
        stalls.append(stall * 1000)
        written.append(done.handle.written)
        changed.append(len(pickle.dumps(([key for key, _ in touched], [record for _, record in touched]), 5)))
    each = [w / c for w, c in zip(written, changed, strict=True)]
    print(
        f"{increments} incremental ones, {CHANGED:.0%} changed: written, of the changed bytes "
        f"({statistics.mean(changed) / 1e6:.2f} MB): median {statistics.median(each):.2f}, "
        f"mean {sum(written) / sum(changed):.2f}, max {max(each):.2f}"
    )
    print(f"  processing stands still for  {statistics.median(stalls):10.1f} ms (median)")

    metadata = slot.metadata(done)
    slot.slot.close(job_over=True)
    del slot
    gc.collect()
    started = time.perf_counter()
    restored = OneSlot(directory, backend, metadata)
    seconds = time.perf_counter() - started
    restored.slot.close(job_over=True)
    print(f"restore from the last          {seconds * 1000:10.0f} ms   unpickling it all: {unpickling * 1000:.0f} ms")


def value(rng: random.Random, key: int) -> tuple[int, str]:
    """Return a record."""
    return key, f"{rng.getrandbits(160):040x}"


def memory() -> int:
    """Return the bytes of memory this process has for itself."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def jobs(records: int, keys: int, rounds: int) -> None:
    """Run the job of ``keyed_state.py`` on Spark with and without checkpoints, in turn."""
    environment = configured(2)
    spark = environment._spark_session(2)
    data = tempfile.mkdtemp(prefix="rekindle-benchmark-")
    checkpoints = tempfile.mkdtemp(prefix="rekindle-benchmark-")
    try:
        write_pairs(data, records, keys, 4 * max(2, records // 1_500_000))
        measured: dict[str, list[float]] = {}
        taken: dict[str, int] = {}
        keyed_state.run(environment, spark, data, 4)  # lets the JVM compile its code
        every_5_s = {"execution.checkpointing.interval": "5 s", "state.checkpoints.dir": checkpoints}
        incremental = every_5_s | {"state.backend.incremental": "true"}
        rocksdb = {"state.backend": "rocksdb"}
        for _ in range(rounds):
            for name, settings in (
                ("heap", {}),
                ("heap, every 5 s", every_5_s),
                ("heap, incremental", incremental),
                ("RocksDB", rocksdb),
                ("RocksDB, incremental", rocksdb | incremental),
            ):
                epochs = keyed_state.run(configured(2, settings), spark, data, 4)
                measured.setdefault(name, []).append(steady(epochs)[1])
                taken[name] = epochs.checkpoints
        print(
            f"\nthe job of keyed_state.py, {records:,} records, {keys:,} keys, parallelism 2, steady, best of {rounds}"
        )
        for name, throughput in measured.items():
            ratio = max(throughput) / max(measured[name.partition(",")[0]])  # to the same without checkpoints
            print(f"{name:24}{max(throughput):12,.0f} records/s   {ratio:5.2f}   {taken[name]} checkpoints")
    finally:
        shutil.rmtree(data)
        shutil.rmtree(checkpoints, ignore_errors=True)
        environment.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--increments", type=int, default=10)
    parser.add_argument("--records", type=int, default=15_000_000)
    parser.add_argument("--rounds", type=int, default=2, help="how often each job is run")
    parser.add_argument("--no-jobs", action="store_true", help="measure one slot only, without Spark")
    parser.add_argument("--no-slots", action="store_true", help="measure jobs on Spark only")
    args = parser.parse_args()
    if not args.no_slots:
        slots(args.keys, args.increments)
    if not args.no_jobs:
        jobs(args.records, args.keys, args.rounds)


if __name__ == "__main__":
    main()

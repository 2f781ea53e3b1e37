"""What an operation on keyed state costs: the heap beside a plain dict, RocksDB beside bare rocksdict; then timers, in
memory and in RocksDB; then whole jobs.

Every primitive does the same work four ways: on a dict, on Rekindle's heap, on rocksdict with pickled values, on
Rekindle's RocksDB (with the cache of Python objects in front of it, and without). All in one process, one after the
other; the best of three rounds counts. Then the memory that the heap takes for a key is compared with that of a dict
with equal keys and values, each in a process of its own. Timers are set and fire while a number of them is set all the
time; core time counts, of RocksDB's threads, too. Last, the job of ``keyed_state.py`` runs on Spark with each
backend.

    python benchmarks/state_backends.py [--operations N] [--keys K] [--held K] [--records N] [--no-jobs]
"""

from __future__ import annotations

import argparse
import gc
import os
import pickle
import shutil
import struct
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import keyed_state
import rocksdict
from measuring import configured, steady, write_pairs

from rekindle.contracts.key_groups import KeyGroupRange
from rekindle.datastream.functions import AggregateFunction
from rekindle.datastream.state import (
    AggregatingStateDescriptor,
    FoldingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from rekindle.state.heap.backend import HeapKeyedStateBackend
from rekindle.state.keyed_backend import KeyedStateBackend
from rekindle.state.rocksdb.backend import RocksDBKeyedStateBackend
from rekindle.state.rocksdb.settings import RocksDBSettings
from rekindle.state.snapshots import SnapshotRequest
from rekindle.state.state_owner import StateOwner
from rekindle.state.timer_store import TimerStore
from rekindle.state.timers import TimerQueue

LIST_LENGTH = 8


class Sum(AggregateFunction):
    """Add up."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + value

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


# --- the work: per key of the sequence, one read and one write -------------------------------------------------------


def on_values(backend: KeyedStateBackend, state: Any, keys: list[int]) -> None:
    for backend.key in keys:
        state.update((state.value() or 0) + 1)


def on_lists(backend: KeyedStateBackend, state: Any, keys: list[int]) -> None:
    for backend.key in keys:
        state.add(1)
        if len(state.get()) >= LIST_LENGTH:
            state.clear()


def on_maps(backend: KeyedStateBackend, state: Any, keys: list[int]) -> None:
    for backend.key in keys:
        state.put("count", (state.get("count") or 0) + 1)


def on_accumulators(backend: KeyedStateBackend, state: Any, keys: list[int]) -> None:
    for backend.key in keys:
        state.add(1)
        state.get()


def dict_values(keys: list[int]) -> None:
    state: dict[int, int] = {}
    for key in keys:
        state[key] = (state.get(key) or 0) + 1


def dict_lists(keys: list[int]) -> None:
    state: dict[int, list[int]] = {}
    for key in keys:
        elements = state.get(key)
        if elements is None:
            elements = state[key] = []
        elements.append(1)
        if len(list(elements)) >= LIST_LENGTH:
            del state[key]


def dict_maps(keys: list[int]) -> None:
    state: dict[int, dict[str, int]] = {}
    for key in keys:
        entries = state.get(key)
        if entries is None:
            entries = state[key] = {}
        entries["count"] = (entries.get("count") or 0) + 1


def dict_accumulators(keys: list[int]) -> None:
    def add(accumulator: int, value: int) -> int:
        return accumulator + value

    state: dict[int, int] = {}
    for key in keys:
        state[key] = add(state.get(key, 0), 1)
        state.get(key)


_PACK = struct.Struct(">q").pack


def rocksdict_values(database: rocksdict.Rdict, keys: list[int]) -> None:
    for key in keys:
        packed = _PACK(key)
        found = database.get(packed)
        database[packed] = pickle.dumps((0 if found is None else pickle.loads(found)) + 1, 5)


def rocksdict_lists(database: rocksdict.Rdict, keys: list[int]) -> None:
    for key in keys:
        packed = _PACK(key)
        found = database.get(packed)
        elements = [] if found is None else pickle.loads(found)
        elements.append(1)
        if len(elements) >= LIST_LENGTH:
            del database[packed]
        else:
            database[packed] = pickle.dumps(elements, 5)


def rocksdict_maps(database: rocksdict.Rdict, keys: list[int]) -> None:
    for key in keys:
        packed = _PACK(key) + b"count"
        found = database.get(packed)
        database[packed] = pickle.dumps((0 if found is None else pickle.loads(found)) + 1, 5)


Work = tuple[
    str,
    Callable[[], StateDescriptor],
    Callable[[KeyedStateBackend, Any, list[int]], None],
    Callable[[list[int]], None],
    Callable[[rocksdict.Rdict, list[int]], None],
]
WORK: list[Work] = [
    ("value", lambda: ValueStateDescriptor("s"), on_values, dict_values, rocksdict_values),
    ("list", lambda: ListStateDescriptor("s"), on_lists, dict_lists, rocksdict_lists),
    ("map", lambda: MapStateDescriptor("s"), on_maps, dict_maps, rocksdict_maps),
    (
        "reducing",
        lambda: ReducingStateDescriptor("s", lambda a, b: a + b),
        on_accumulators,
        dict_accumulators,
        rocksdict_values,
    ),
    (
        "aggregating",
        lambda: AggregatingStateDescriptor("s", Sum()),
        on_accumulators,
        dict_accumulators,
        rocksdict_values,
    ),
    (
        "folding",
        lambda: FoldingStateDescriptor("s", 0, lambda a, b: a + b),
        on_accumulators,
        dict_accumulators,
        rocksdict_values,
    ),
]


# --- measuring -------------------------------------------------------------------------------------------------------


def best(rounds: int, work: Callable[[], None], operations: int) -> float:
    """Return nanoseconds per operation, the best of some rounds."""
    durations = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        durations.append(time.perf_counter() - started)
    return min(durations) / operations * 1e9


def primitives(keys: list[int]) -> None:
    """Measure and print every primitive."""
    print(f"{len(keys):,} reads and writes of {len(set(keys)):,} keys, ns for one read and one write")
    head = ("state", "dict", "heap", "ratio", "rocksdict", "RocksDB", "ratio", "no cache", "ratio")
    print("{:12}{:>8}{:>8}{:>7}{:>12}{:>9}{:>7}{:>10}{:>7}".format(*head))
    everything = KeyGroupRange(0, 127)
    for name, describe, on_backend, on_dict, on_rocksdict in WORK:
        plain = best(3, lambda on=on_dict: on(keys), len(keys))  # type: ignore[misc]
        heap_backend = HeapKeyedStateBackend(StateOwner("benchmark"), everything, 128, _now)
        heap = _state(heap_backend, describe, on_backend, keys)
        bare = _bare(on_rocksdict, keys)
        cached, uncached = (_rocksdb(entries, describe, on_backend, keys) for entries in (None, 0))
        print(
            f"{name:12}{plain:8.0f}{heap:8.0f}{heap / plain:7.2f}{bare:12.0f}{cached:9.0f}{cached / bare:7.2f}"
            f"{uncached:10.0f}{uncached / bare:7.2f}"
        )


def _now() -> int:
    return time.time_ns() // 1_000_000


def _state(
    backend: KeyedStateBackend,
    describe: Callable[[], StateDescriptor],
    work: Callable[[KeyedStateBackend, Any, list[int]], None],
    keys: list[int],
) -> float:
    state = backend.get_or_create(describe())
    return best(3, lambda: work(backend, state, keys), len(keys))


def _bare(work: Callable[[rocksdict.Rdict, list[int]], None], keys: list[int]) -> float:
    directory = tempfile.mkdtemp(prefix="rekindle-benchmark-")
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)
    database = rocksdict.Rdict(directory, options)
    without_log = rocksdict.WriteOptions()
    without_log.disable_wal = True
    database.set_write_options(without_log)
    try:
        return best(3, lambda: work(database, keys), len(keys))
    finally:
        database.close()
        shutil.rmtree(directory, ignore_errors=True)


def _rocksdb(
    cache_entries: int | None,
    describe: Callable[[], StateDescriptor],
    work: Callable[[KeyedStateBackend, Any, list[int]], None],
    keys: list[int],
) -> float:
    settings = RocksDBSettings() if cache_entries is None else RocksDBSettings(cache_entries=cache_entries)
    directory = tempfile.mkdtemp(prefix="rekindle-benchmark-")
    backend = RocksDBKeyedStateBackend(StateOwner("benchmark"), KeyGroupRange(0, 127), 128, _now, directory, settings)
    try:
        return _state(backend, describe, work, keys)
    finally:
        backend.close()
        shutil.rmtree(directory, ignore_errors=True)


# --- timers ----------------------------------------------------------------------------------------------------------


def timers(held: int) -> None:
    """Measure and print what it takes to set a timer and let it fire, and how much memory one takes."""
    # In RocksDB, a fixed number of them takes as much, and all others next to none.
    taken = _taken(partial(_fill, TimerQueue("timers", StateOwner("benchmark")), held, 1)) / held
    print(f"\na timer in memory takes {taken:.0f} bytes; ns of core time for one that is set and fires")
    print("{:>12}{:>14}{:>10}{:>10}{:>7}".format("set", "order", "memory", "RocksDB", "ratio"))
    for count in (1_000, 10_000, 100_000, held):
        for order, spread in (("as they fire", 1), ("at random", 7_919)):
            memory, rocksdb = (_set_and_fired(in_rocksdb, count, spread) for in_rocksdb in (False, True))
            print(f"{count:12,}{order:>14}{memory:10.0f}{rocksdb:10.0f}{memory / rocksdb:7.2f}", flush=True)


def _fill(store: TimerStore, count: int, spread: int) -> TimerStore:
    for number in range(count):
        store.register(number, number * spread % count)
    return store


def _set_and_fired(in_rocksdb: bool, count: int, spread: int) -> float:
    """Let as many timers fire and be set as are set all the time, or 200,000."""
    settings, everything = RocksDBSettings(timers=in_rocksdb), KeyGroupRange(0, 127)
    with tempfile.TemporaryDirectory(prefix="rekindle-benchmark-") as directory:
        backend = RocksDBKeyedStateBackend(StateOwner("benchmark"), everything, 128, _now, directory, settings)
        store = _fill(backend.timers("timers"), count, spread)
        steps = max(count, 200_000)
        started = time.process_time()
        for number in range(steps):
            key, timestamp = store.pop_due(1 << 60) or (0, 0)
            store.register(key, count + timestamp if spread == 1 else timestamp + 1 + number * spread % count)
        duration = time.process_time() - started
        backend.close()
        os.makedirs(directory, exist_ok=True)  # the backend has removed it
    return duration / steps * 1e9


# --- memory ----------------------------------------------------------------------------------------------------------


HELD: list[tuple[str, Callable[[], StateDescriptor], Callable[[Any, Any], None], Callable[[int], Any]]] = [
    ("value, a pair", lambda: ValueStateDescriptor("s"), lambda s, v: s.update(v), lambda key: (key, f"{key:040x}")),
    ("value, a number", lambda: ValueStateDescriptor("s"), lambda s, v: s.update(v), lambda key: key + (1 << 40)),
    ("list of one", lambda: ListStateDescriptor("s"), lambda s, v: s.update(v), lambda key: [key]),
    ("map of one", lambda: MapStateDescriptor("s"), lambda s, v: s.put_all(v), lambda key: {"count": key}),
]


def memory(keys: int) -> None:
    """Measure and print what a key takes, in a dict and on the heap.

    With incremental checkpoints, after one of which half of the keys were written again: then most is noted of them.
    """
    print(f"\n{keys:,} keys, bytes of memory for each")
    print("{:20}{:>8}{:>8}{:>7}{:>13}{:>7}".format("state", "dict", "heap", "ratio", "incremental", "ratio"))
    for name, describe, write, value in HELD:

        def on_heap(incremental: bool, describe: Any = describe, write: Any = write, value: Any = value) -> Any:
            everything = KeyGroupRange(0, 127)
            backend = HeapKeyedStateBackend(StateOwner("benchmark"), everything, 128, _now, incremental)
            state = backend.get_or_create(describe())
            for backend.key in range(keys):
                write(state, value(backend.key))
            if incremental:
                backend.snapshot(SnapshotRequest(1))
                backend.snapshot_completed(1)
                for backend.key in range(keys // 2):
                    write(state, value(backend.key))
            return backend

        plain = _taken(lambda value=value: {key: value(key) for key in range(keys)}) / keys  # type: ignore[misc]
        heap, incremental = (_taken(lambda i=i, on=on_heap: on(i)) / keys for i in (False, True))  # type: ignore[misc]
        print(f"{name:20}{plain:8.0f}{heap:8.0f}{heap / plain:7.2f}{incremental:13.0f}{incremental / plain:7.2f}")


def _taken(make: Callable[[], Any]) -> int:
    """Return the bytes of memory that something takes, made in a process of its own."""
    readable, writable = os.pipe()
    child = os.fork()
    if not child:
        gc.collect()
        before = _resident()
        made = make()
        gc.collect()
        os.write(writable, struct.pack("<q", _resident() - before))
        del made
        os._exit(0)
    os.close(writable)
    with open(readable, "rb") as answer:
        (taken,) = struct.unpack("<q", answer.read())
    os.waitpid(child, 0)
    return int(taken)


def _resident() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def jobs(records: int, keys: int) -> None:
    """Run the job of ``keyed_state.py`` with each backend, twice, on one session."""
    environment = configured(2)
    spark = environment._spark_session(2)
    data = tempfile.mkdtemp(prefix="rekindle-benchmark-")
    try:
        write_pairs(data, records, keys, 12)
        measured: dict[str, list[float]] = {}
        keyed_state.run(environment, spark, data, 4)  # lets the JVM compile its code
        for _ in range(2):
            for name, settings in (
                ("heap", {"state.backend": "hashmap"}),
                ("RocksDB", {"state.backend": "rocksdb"}),
                ("RocksDB, no cache", {"state.backend": "rocksdb", "rekindle.rocksdb.cache.entries": "0"}),
            ):
                epochs = keyed_state.run(configured(2, settings), spark, data, 4)
                measured.setdefault(name, []).append(steady(epochs)[1])
        heap = max(measured["heap"])
        print(f"\nthe job of keyed_state.py, {records:,} records, {keys:,} keys, parallelism 2, steady, best of 2")
        for name, throughput in measured.items():
            print(f"{name:20}{max(throughput):12,.0f} records/s   {max(throughput) / heap:5.2f} of the heap")
    finally:
        shutil.rmtree(data)
        environment.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--operations", type=int, default=200_000)
    parser.add_argument("--keys", type=int, default=20_000)
    parser.add_argument("--held", type=int, default=1_000_000, help="how many keys are held to measure memory")
    parser.add_argument("--records", type=int, default=4_000_000)
    parser.add_argument("--no-jobs", action="store_true", help="measure primitives and memory only, without Spark")
    args = parser.parse_args()
    warnings.simplefilter("ignore", DeprecationWarning)  # folding state
    primitives([(number * 7919) % args.keys for number in range(args.operations)])
    memory(args.held)
    timers(args.held)
    if not args.no_jobs:
        jobs(args.records, 100_000)


if __name__ == "__main__":
    main()

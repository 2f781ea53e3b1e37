"""Queries of a running job's state on Spark: look-ups per second, how long they take, and what they cost the job.

A keyed process function counts the records of each key, in one slot that has always something to do, or in one that has
nothing. Clients in another process look up keys at random, one after the other, each thread with a client of its own:
one of them and 16, one key with each query and many. Then the job's throughput is measured in turns without readers and
with 16 of them.

    python benchmarks/queryable.py [--seconds S] [--keys K] [--batch B] [--turns T] [--backend hashmap|rocksdb]
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import threading
import time
from typing import Any

from measuring import Epochs

from rekindle.common import Configuration, Types, WatermarkStrategy
from rekindle.datastream import KeyedProcessFunction, RuntimeContext, SourceFunction, StreamExecutionEnvironment
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.queryable_state import QueryableStateClient, UnknownKeyError
from rekindle.runtime.master.job_master import JobMaster

LONG = Types.LONG()
READERS = 16
SETTLING = 4.0  # seconds of a job that do not count


class Count(KeyedProcessFunction):
    """Count the records of each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get the state."""
        descriptor = ValueStateDescriptor("count", LONG)
        descriptor.set_queryable("counts")
        self.count = runtime_context.get_state(descriptor)

    def process_element(self, value: int, ctx: Any) -> None:
        """Count a record."""
        self.count.update((self.count.value() or 0) + 1)


class OneOfEach(SourceFunction):
    """Emit each key once, and nothing more."""

    def __init__(self, keys: int) -> None:
        self._keys = keys
        self._running = True

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        """Emit the keys, and wait for the end."""
        for key in range(self._keys):
            ctx.collect(key)
        while self._running:
            time.sleep(0.05)

    def cancel(self) -> None:
        """End."""
        self._running = False


def start(environment: StreamExecutionEnvironment, keys: int, busy: bool, epochs: Epochs) -> JobMaster:
    """Run the job."""
    if busy:
        source = NumberSequenceSource(0, 1 << 60)
        stream = environment.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", LONG)
    else:
        stream = environment.add_source(OneOfEach(keys), "keys", LONG)
    stream.key_by(lambda number: number % keys, LONG).process(Count())
    master = environment._submit("queried", None, epochs)
    while not (states := master.queryable_states()) or not states.proxies():
        time.sleep(0.05)
    time.sleep(SETTLING)
    return master


def read(host: str, port: int, job_id: str, keys: int, threads: int, batch: int, seconds: float) -> dict[str, Any]:
    """Look up keys, and return how many look-ups there were and how long queries took."""
    descriptor = ValueStateDescriptor("count", LONG)
    taken: list[float] = []
    until = time.monotonic() + seconds

    def look_up(seed: int) -> None:
        rng = random.Random(seed)
        with QueryableStateClient(host, port) as client:
            while (started := time.monotonic()) < until:
                if batch > 1:
                    asked = rng.choices(range(keys), k=batch)
                    client.get_kv_states(job_id, "counts", asked, LONG, descriptor).result()
                else:
                    try:
                        client.get_kv_state(job_id, "counts", rng.randrange(keys), LONG, descriptor).result()
                    except UnknownKeyError:
                        continue
                taken.append(time.monotonic() - started)

    readers = [threading.Thread(target=look_up, args=(seed,)) for seed in range(threads)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    ordered = sorted(taken)
    return {
        "lookups": len(taken) * batch / seconds,
        "p50": ordered[len(ordered) // 2] * 1000,
        "p99": ordered[len(ordered) * 99 // 100] * 1000,
    }


def reading(master: JobMaster, keys: int, threads: int, batch: int, seconds: float) -> subprocess.Popen[bytes]:
    """Look up keys in another process."""
    states = master.queryable_states()
    assert states is not None
    host, port = states.proxies()[0]
    arguments = [host, port, master.settings.job_id, keys, threads, batch, seconds]
    return subprocess.Popen([sys.executable, __file__, "--read", json.dumps(arguments)], stdout=subprocess.PIPE)


def outcome(reader: subprocess.Popen[bytes]) -> dict[str, Any]:
    """Wait for readers."""
    out = reader.communicate()[0]
    found: dict[str, Any] = json.loads(out)
    return found


def records_per_second(epochs: Epochs, seconds: float) -> float:
    """Measure how many records the job reads, from the end of one epoch to that of another."""
    before = len(epochs.finished)
    time.sleep(seconds)
    ended = epochs.finished[before:]
    return sum(summary.records for _, summary in ended[1:]) / (ended[-1][0] - ended[0][0])


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--backend", default="hashmap")
    parser.add_argument("--read", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        print(json.dumps(read(*json.loads(options.read))))
        return
    configuration = Configuration()
    for key, value in (
        ("queryable-state.enable", "true"),
        ("rekindle.progress", "none"),
        ("state.backend", options.backend),
        ("rest.enabled", "false"),
    ):
        configuration.set_string(key, value)
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    environment.set_parallelism(1)
    for busy in (False, True):
        epochs = Epochs()
        master = start(environment, options.keys, busy, epochs)
        print(f"{'busy' if busy else 'idle'} slot, {options.keys:,} keys, {options.backend}")
        for threads in (1, READERS):
            for batch in (1, options.batch):
                found = outcome(reading(master, options.keys, threads, batch, options.seconds))
                print(
                    f"  {threads:2} clients, {batch:3} keys a query: {found['lookups']:9,.0f} look-ups/s, "
                    f"p50 {found['p50']:7.2f} ms, p99 {found['p99']:7.2f} ms"
                )
        if busy:
            without, beside = [], []
            for _ in range(options.turns):
                without.append(records_per_second(epochs, options.seconds))
                reader = reading(master, options.keys, READERS, 1, options.seconds + 3)
                time.sleep(2.0)  # its process starts
                beside.append(records_per_second(epochs, options.seconds))
                outcome(reader)
            ratio = statistics.median(beside) / statistics.median(without)
            print(
                f"  throughput without readers {statistics.median(without):,.0f} records/s, with {READERS} readers "
                f"{statistics.median(beside):,.0f}: {ratio:.2f}"
            )
        master.cancel()
        master.result.exception()
    environment.close()


if __name__ == "__main__":
    main()

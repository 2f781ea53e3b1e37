"""How long a job takes from the death of a slot to the first record in a new one, by phase.

A job runs on this machine, once fed by a source of Rekindle's own and once by a stream of Spark's. One of its slots is
killed with SIGKILL, again and again, each time after a checkpoint. The restart delay is none, so that it hides nothing.

    python benchmarks/recovery.py [--kills N] [--keys K] [--delay MS] [--backend hashmap|rocksdb]
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from rekindle.common import Configuration, Types, WatermarkStrategy
from rekindle.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from rekindle.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from rekindle.datastream.state import ValueStateDescriptor

RATE = 2_000
PATIENCE = 120.0


class Count(KeyedProcessFunction):
    """Count by key; note when this process had its first record."""

    def __init__(self, notes: str) -> None:
        self._notes = notes
        self._noted = False

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        if not self._noted:
            self._noted = True
            Path(self._notes, str(os.getpid())).write_text(str(time.time()))
        self.count.update((self.count.value() or 0) + 1)
        return ()


class Told(logging.Handler):
    """Gather what the log says of recoveries, by phase."""

    def __init__(self) -> None:
        super().__init__()
        self.recoveries: list[dict[str, int]] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Take a record."""
        fields = vars(record)
        if fields.get("event") == "recovered":
            phases = ("stop_ms", "delay_ms", "slots_ms", "restore_ms", "first_epoch_ms")
            self.recoveries.append({phase: fields[phase] for phase in phases})


def main() -> None:
    """Print medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--delay", type=int, default=0, help="the restart delay, in milliseconds")
    parser.add_argument("--backend", default="hashmap")
    parser.add_argument("--source", choices=["hosted", "spark"], action="append")
    arguments = parser.parse_args()
    for source in arguments.source or ["hosted", "spark"]:
        told = Told()
        logging.getLogger("rekindle").addHandler(told)
        logging.getLogger("rekindle").setLevel(logging.INFO)
        times = measure(source, arguments)
        logging.getLogger("rekindle").removeHandler(told)
        shown = " ".join(f"{seconds:.2f}" for seconds in sorted(times))
        print(f"{source}: median {statistics.median(times):.2f} s from kill to first record ({shown})", flush=True)
        for phase in told.recoveries[0]:
            median = statistics.median(recovery[phase] for recovery in told.recoveries)
            print(f"{source}:   median {median / 1000:.2f} s {phase.removesuffix('_ms')}", flush=True)


def measure(source: str, arguments: argparse.Namespace) -> list[float]:
    """Kill slots of one job, and return how long each recovery took."""
    with tempfile.TemporaryDirectory() as directory:
        notes = Path(directory, "notes")
        notes.mkdir()
        client = start(source, directory, str(notes), arguments)
        times = []
        try:
            for number in range(arguments.kills):
                pids = running(client, notes, number)
                time.sleep(1.5)  # a checkpoint, and a job that has settled
                killed = time.time()
                os.kill(pids[number % len(pids)], signal.SIGKILL)
                times.append(first_record(notes, set(pids), killed) - killed)
        finally:
            client.cancel().result(PATIENCE)
        return times


def start(source: str, directory: str, notes: str, arguments: argparse.Namespace) -> Any:
    """Start the job."""
    configuration = Configuration()
    configuration.set_string("restart-strategy.type", "fixed-delay")
    configuration.set_string("restart-strategy.fixed-delay.attempts", "1000")
    configuration.set_string("restart-strategy.fixed-delay.delay", f"{arguments.delay} ms")
    configuration.set_string("execution.checkpointing.interval", "500 ms")
    configuration.set_string("execution.checkpointing.dir", f"file://{directory}/checkpoints")
    configuration.set_string("state.backend.type", arguments.backend)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    if source == "hosted":
        limit = RateLimiterStrategy.per_second(RATE)
        generator = DataGeneratorSource(lambda number: number, 1 << 40, Types.LONG(), limit)
        stream = env.from_source(generator, WatermarkStrategy.no_watermarks(), "numbers")
        keyed = stream.key_by(lambda number: number % arguments.keys)
    else:
        rates = env.from_data_frame(
            lambda spark: spark.readStream.format("rate").option("rowsPerSecond", RATE).load().select("value"), "rates"
        )
        keyed = rates.key_by(lambda row: row[0] % arguments.keys)
    keyed.process(Count(notes)).print()
    return env.execute_async(f"recovery-{source}")


def running(client: Any, notes: Path, number: int) -> list[int]:
    """Wait until every slot has had a record; return their processes."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        pids = sorted(client._master.slot_pids().values())
        if len(pids) == 2 and all(Path(notes, str(pid)).exists() for pid in pids):
            return pids
        time.sleep(0.01)
    raise TimeoutError(f"the job does not run before kill {number}")


def first_record(notes: Path, before: set[int], killed: float) -> float:
    """Wait for the first record in a process that was not there before."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        texts = [note.read_text() for note in notes.iterdir() if int(note.name) not in before]
        new = [float(text) for text in texts if text and float(text) > killed]
        if new:
            return min(new)
        time.sleep(0.005)
    raise TimeoutError("no record came after the kill")


if __name__ == "__main__":
    main()

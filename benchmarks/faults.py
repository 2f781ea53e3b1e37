"""Kills slots, Python workers, Spark's JVM and the driver of a running job, and counts what was lost or came twice.

Once for each backend a job numbers the events of every key, and writes them with a two-phase sink. It is started with
``rekindle run --restart-driver``, and its processes are killed with SIGKILL, one after the other, at random moments.
Then it runs to its end, and its output is compared with what plain Python computes.

    python benchmarks/faults.py [--faults N] [--seed N] [--backend hashmap|rocksdb]
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rekindle.common import Configuration, Types, WatermarkStrategy
from rekindle.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from rekindle.datastream.connectors.datagen import DataGeneratorSource
from rekindle.datastream.connectors.file_system import FileSink
from rekindle.datastream.state import MapStateDescriptor, ValueStateDescriptor

KEYS = 1_000
EVENTS_PER_FAULT = 40_000
PATIENCE = 300.0
TAG = "REKINDLE_FAULTS"
SLOT = "rekindle-slot"  # what forked slots are called
# Slots die most often; a new JVM or driver takes longer, and there are fewer of those faults.
KINDS = ("slot", "slot", "slot", "worker", "JVM", "slot", "slot", "worker", "driver", "slot")


def key_of(event: int) -> int:
    """Return the key of an event."""
    return event * 7919 % KEYS


class Number(KeyedProcessFunction):
    """Number the events of each key, and sum them up."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.sums = runtime_context.get_map_state(MapStateDescriptor("sums", Types.STRING(), Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Iterator[str]:
        count = (self.count.value() or 0) + 1
        total = (self.sums.get("total") or 0) + value
        self.count.update(count)
        self.sums.put("total", total)
        yield f"{ctx.get_current_key()},{count},{total}"


class Slowed:
    """Give the number itself; slowly until there is a file."""

    def __init__(self, gate: str) -> None:
        self._gate = gate
        self._open = False

    def __call__(self, number: int) -> int:
        if number % 500 == 0 and not self._open:
            self._open = os.path.exists(self._gate)
            if not self._open:
                time.sleep(0.25)
        return number


def run_job(directory: str, events: int, backend: str) -> None:
    """Run the job, in a process of its own."""
    configuration = Configuration()
    for key, value in {
        "state.backend.type": backend,
        "execution.checkpointing.interval": "500 ms",
        "execution.checkpointing.dir": f"file://{directory}/checkpoints",
        "execution.checkpointing.incremental": "true",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "100000",
        "restart-strategy.fixed-delay.delay": "100 ms",
    }.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    source = DataGeneratorSource(Slowed(f"{directory}/gate"), events, Types.LONG())
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "events").uid("events")
    numbered = numbers.key_by(key_of).process(Number(), Types.STRING()).uid("number")
    numbered.sink_to(FileSink.for_row_format(f"{directory}/out").build()).uid("sink")
    env.execute("faults")


class Run:
    """One run of the job, its processes and its output."""

    def __init__(self, directory: str, events: int, backend: str) -> None:
        self._directory = directory
        self._tag = uuid.uuid4().hex
        self.log = Path(directory, "log")
        command = [sys.executable, "-m", "rekindle.cli", "run", "--restart-driver", __file__]
        with self.log.open("w") as output:
            self.process = subprocess.Popen(
                [*command, "--job", directory, "--events", str(events), "--backend", backend],
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, TAG: self._tag},
                start_new_session=True,
            )

    def victims(self, kind: str) -> list[int]:
        """List the processes of a kind."""
        own = {pid: command_of(pid) for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if self._is_own(pid)}
        workers = {pid for pid, command in own.items() if "rekindle.runtime.spark.worker_daemon" in command}
        jvms = [pid for pid, command in own.items() if "org.apache.spark.deploy.SparkSubmit" in command]
        slots = [pid for pid, command in own.items() if "rekindle.runtime.slot" in command or name_of(pid) == SLOT]
        match kind:
            case "slot":
                return slots
            case "worker":  # of the daemon's process group, unlike the fork server of slots
                forked = [pid for pid in workers if parent_of(pid) in workers and pid not in slots]
                return [pid for pid in forked if group_of(pid) == parent_of(pid)]
            case "JVM":
                return jvms
        return [pid for pid in map(parent_of, jvms) if pid in own]

    def wait_for(self, condition: Callable[[], object], what: str) -> bool:
        """Wait; tell whether it came about before the job ended."""
        until = time.monotonic() + PATIENCE
        while not condition():
            if self.process.poll() is not None:
                return False
            if time.monotonic() > until:
                raise TimeoutError(f"not within {PATIENCE:.0f} s: {what}\n{self.log.read_text()[-4000:]}")
            time.sleep(0.05)
        return True

    def committed(self) -> int:
        """Count the finished files of the output."""
        return len(list(Path(self._directory, "out").glob("part-*")))

    def _is_own(self, pid: int) -> bool:
        try:
            return f"{TAG}={self._tag}".encode() in Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            return False


def command_of(pid: int) -> str:
    """Return the command line of a process."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def name_of(pid: int) -> str:
    """Return the name of a process."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def group_of(pid: int) -> int:
    """Return the process group of a process."""
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0


def parent_of(pid: int) -> int:
    """Return the parent of a process."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def attack(backend: str, faults: int, chance: random.Random) -> bool:
    """Run the job once, and kill; tell whether nothing was lost and nothing came twice."""
    events = faults * EVENTS_PER_FAULT
    killed: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as directory:
        run = Run(directory, events, backend)
        try:
            for number in range(faults):
                before = run.committed()
                if not run.wait_for(lambda before=before: run.committed() > before, "more output is committed"):
                    break
                time.sleep(chance.random() * 1.5)
                kind = KINDS[number % len(KINDS)]
                victims: list[int] = []
                if not run.wait_for(lambda kind=kind: run.victims(kind), f"there is a {kind}"):
                    break
                victims = run.victims(kind)
                if victims:
                    os.kill(chance.choice(victims), signal.SIGKILL)
                    killed[kind] += 1
            Path(directory, "gate").touch()
            code = run.process.wait(PATIENCE)
        finally:
            if run.process.poll() is None:
                os.killpg(run.process.pid, signal.SIGKILL)
                run.process.wait()
        log = run.log.read_text()
        if code:
            print(log[-4000:])
        lost, duplicated, disordered, wrong = judge(events, directory)
    kills = ", ".join(f"{count} x {kind}" for kind, count in killed.items())
    print(f"{backend}: {killed.total()} kills ({kills}); {events:,} events; exit code {code}")
    print(f"{backend}: lost {lost}, duplicated {duplicated}, out of order {disordered}, wrong sums {wrong}")
    print_recoveries(backend, log)
    return code == 0 and not (lost or duplicated or disordered or wrong) and killed.total() == faults


def judge(events: int, directory: str) -> tuple[int, int, int, int]:
    """Compare the output with what plain Python computes: lost, duplicated, out of order, keys with a wrong sum."""
    counts: Counter[int] = Counter()
    sums: Counter[int] = Counter()
    for event in range(events):
        counts[key_of(event)] += 1
        sums[key_of(event)] += event
    written: Counter[tuple[int, int]] = Counter()
    totals: dict[int, tuple[int, int]] = {}
    disordered = 0
    for path in Path(directory, "out").glob("part-*"):
        last: dict[int, int] = {}
        for line in path.read_text().splitlines():
            key, number, total = map(int, line.split(","))
            written[key, number] += 1
            disordered += number <= last.get(key, 0)
            last[key] = number
            totals[key] = max(totals.get(key, (0, 0)), (number, total))
    lost = sum((key, number) not in written for key, count in counts.items() for number in range(1, count + 1))
    duplicated = written.total() - len(written)
    wrong = sum(totals.get(key) != (count, sums[key]) for key, count in counts.items())
    return lost, duplicated, disordered, wrong


def print_recoveries(backend: str, log: str) -> None:
    """Print the medians of the recoveries that the log tells of, by phase."""
    phases: dict[str, list[float]] = {}
    for line in re.findall(r"works, (.*)", log):
        for seconds, phase in re.findall(r"([\d.]+) s ([a-z ]+)", line):
            phases.setdefault(phase.strip(), []).append(float(seconds))
    for phase, seconds in phases.items():
        print(f"{backend}:   median {statistics.median(seconds):.2f} s {phase} ({len(seconds)} recoveries)")


def main() -> int:
    """Attack the job once for each backend."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=60, help="how many in all")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--backend", choices=["hashmap", "rocksdb"])
    parser.add_argument("--job", help=argparse.SUPPRESS)
    parser.add_argument("--events", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.job:
        run_job(arguments.job, arguments.events, arguments.backend)
        return 0
    print(f"seed {arguments.seed}", flush=True)
    chance = random.Random(arguments.seed)
    backends = [arguments.backend] if arguments.backend else ["hashmap", "rocksdb"]
    passed = [attack(backend, arguments.faults // len(backends), chance) for backend in backends]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())

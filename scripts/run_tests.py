"""Runs everything that must hold, in parts: three run side by side, as some wait, and whoever is done takes the next.

make runs this with the Python of .venv, which has the newest Spark, and says in OLDEST_SPARK which one is the oldest:
some tests are run on that one, too, in an environment of its own, which is made first. A part that passes is one
line; what a part that fails has printed is shown whole. At the end come the slowest tests, those that were skipped and
those that failed, by name, and all in one line.

Usage: run_tests.py all | quick | pytest ARGUMENTS...
SEED=random draws the seed of all random tests, and prints it; SEED=123 uses that one.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

LANES = 3
SLOWEST = 20
BIN = os.path.dirname(sys.executable)
PYTEST = os.path.join(BIN, "pytest")
ON_OLDEST_SPARK = ("-m", "smoke", "tests/integration")
DELTA_ON_OLDEST_SPARK = ("-m", "smoke", "tests/services/test_delta.py")  # alone; there is no Delta for the newest Spark

# Long ones first, so that all lanes end at about the same time. What needs Spark shares a session, but for the tests of
# drivers, which start and kill their own. "All others" is what no part names.
DRIVERS = (
    "tests/browser",
    *(
        f"tests/chaos/test_{name}.py"
        for name in ("driver", "driver_takeover", "jvm_killed", "cluster", "every_connector")
    ),
)
ON_SPARK = tuple(f"tests/{name}" for name in ("browser", "chaos", "docs", "integration", "pyflink"))
SERVICES = "tests/services"  # with a Kafka broker, a database, an object store
PARTS = (
    ("tests/runtime",),
    ("tests/cli", "tests/rest", "tests/checkpoint", "tests/ha"),
    ("tests/state",),
    ("tests/serialization", "tests/evolution"),
)
QUICK = (
    ("tests/checkpoint", "tests/ha", "tests/graph", "tests/runtime/master/attempts/test_attempt_machine.py"),
    ("tests/state", "--ignore=tests/state/contract", "tests/datastream", "tests/config", "tests/types"),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """How long a test took; if it was skipped, why; and whether it failed."""

    seconds: float
    name: str
    skipped: str | None = None
    failed: bool = False


@dataclass(slots=True)
class Part:
    """Commands that run one after the other, until one fails.

    Attributes:
        name: What the part is called.
        commands: What it runs.
        required: Whether all others end if it fails.
        reports: The files in which pytest says what tests it ran.
    """

    name: str
    commands: Sequence[Sequence[str]]
    required: bool = False
    reports: Sequence[str] = ()
    output: str = ""
    passed: bool = False
    seconds: float = 0.0
    tests: list[Measured] = field(default_factory=list)

    def summary(self) -> str:
        """Return the part in one line."""
        counted = f"{len(self.tests)} tests" if self.reports else ""
        return f"{'passed' if self.passed else 'FAILED'}  {self.name:<44} {counted:>12} {self.seconds:>6.0f} s"


class Lanes:
    """Run parts side by side."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._waiting = deque(parts)
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._stopped = False

    def run(self) -> None:
        """Run all parts, or those until one fails that is required."""
        lanes = [threading.Thread(target=self._run_lane) for _ in range(LANES)]
        for lane in lanes:
            lane.start()
        try:
            for lane in lanes:
                lane.join()
        finally:
            self.stop()

    def stop(self) -> None:
        """End what runs, and begin nothing more."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                process.terminate()

    def _run_lane(self) -> None:
        while True:
            with self._lock:
                if self._stopped or not self._waiting:
                    return
                part = self._waiting.popleft()
            self._run_part(part)
            with self._lock:
                if self._stopped:
                    return
                print(part.summary() if part.passed else f"{part.output}\n{part.summary()}", flush=True)
            if part.required and not part.passed:
                self.stop()

    def _run_part(self, part: Part) -> None:
        begun = time.monotonic()
        part.passed = all(self._succeeds(part, command) for command in part.commands)
        part.seconds = time.monotonic() - begun
        part.tests = [test for report in part.reports if os.path.exists(report) for test in measured(report)]

    def _succeeds(self, part: Part, command: Sequence[str]) -> bool:
        with self._lock:
            if self._stopped:
                return False
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
            )
            self._running.add(process)
        part.output += process.communicate()[0]
        if process.returncode < 0:  # nothing else in the output tells
            part.output += f"\n{command[0]} was ended by {signal.Signals(-process.returncode).name}\n"
        with self._lock:
            self._running.discard(process)
        return process.returncode == 0


def measured(report: str) -> Iterable[Measured]:
    """Read how long tests took out of a report of pytest."""
    for case in ElementTree.parse(report).iter("testcase"):
        skipped = case.find("skipped")
        why = None if skipped is None else skipped.get("message", "")
        failed = any(case.find(outcome) is not None for outcome in ("failure", "error"))
        yield Measured(float(case.get("time", 0)), f"{case.get('classname')}.{case.get('name')}", why, failed)


def pytest_part(name: str, directory: str, *arguments: str) -> Part:
    """Return a part that runs pytest, and notes in a directory how long tests take."""
    report = os.path.join(directory, f"{name}.xml")
    return Part(name, (pytest(PYTEST, report, *arguments),), reports=[report])


def pytest(executable: str, report: str, *arguments: str) -> Sequence[str]:
    """Return the command that runs pytest and writes a report."""
    return (executable, "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *arguments)


def named(directories: Sequence[str]) -> str:
    """Return what a part with these directories is called."""
    return ", ".join(directory.removeprefix("tests/") for directory in directories if directory[0] != "-")


def make(target: str) -> Sequence[str]:
    """Return the command that makes a target."""
    return ("make", "--no-print-directory", target)


def everything(directory: str) -> list[Part]:
    """Return the parts of ``make test``."""
    oldest = f".venv-spark-{os.environ['OLDEST_SPARK']}"
    reports = [os.path.join(directory, name) for name in ("delta.xml", "smoke.xml")]
    on_oldest = os.path.join(oldest, "bin", "pytest")
    delta = pytest(on_oldest, reports[0], *DELTA_ON_OLDEST_SPARK)
    smoke = (make(f"{oldest}/.installed"), delta, pytest(on_oldest, reports[1], *ON_OLDEST_SPARK))
    elsewhere = [f"--ignore={name}" for name in (*DRIVERS, SERVICES)]
    on_spark = pytest_part("on Spark", directory, "-m", "spark", *ON_SPARK, *elsewhere)
    on_spark.commands = (make(".venv/spark-classes.jsa"), *on_spark.commands)
    without = [f"--ignore={name}" for part in PARTS for name in part]
    return [
        Part("lint", (make("lint"),), required=True),
        on_spark,
        pytest_part("all others", directory, "-m", "not spark", *elsewhere, *without),
        pytest_part("services", directory, SERVICES),
        pytest_part("drivers", directory, *DRIVERS),
        *(pytest_part(named(part), directory, "-m", "not spark", *part) for part in PARTS),
        Part("smoke on the oldest Spark", smoke, reports=reports),
    ]


def quick(directory: str) -> list[Part]:
    """Return the parts of ``make quick``: no Spark, no JVM."""
    style = ((os.path.join(BIN, "ruff"), "check"), (os.path.join(BIN, "ruff"), "format", "--check"))
    return [
        Part("style", style, required=True),
        *(pytest_part(named(part), directory, "-m", "not spark", *part) for part in QUICK),
    ]


def choose_seed() -> str:
    """Draw the seed of random tests if that is asked for; return which one it is."""
    if os.environ.get("SEED") == "random":
        os.environ["SEED"] = str(secrets.randbelow(1 << 32))
    if not os.environ.get("SEED"):
        os.environ.pop("SEED", None)
        return "the fixed one (SEED=123 names one, SEED=random draws one)"
    return os.environ["SEED"]


def main(arguments: list[str]) -> int:
    """Return 0 if all passed."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for what it runs in the background
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # tests start Python hundreds of times: let them compile once
    seed = choose_seed()
    print(f"seed of random tests: {seed}", flush=True)
    what, *others = arguments
    if what == "pytest":
        return subprocess.call([PYTEST, *others])
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        parts = (everything if what == "all" else quick)(directory)
        Lanes(parts).run()
    tests = sorted((test for part in parts for test in part.tests), key=lambda test: -test.seconds)
    print(f"\nslowest {SLOWEST} tests")
    for test in tests[:SLOWEST]:
        print(f"{test.seconds:>7.1f} s  {test.name}")
    skipped = [test for test in tests if test.skipped is not None]
    if skipped:
        print(f"\nskipped {len(skipped)} tests")
    for test in skipped:
        print(f"  {test.name}: {test.skipped}")
    broken = sorted({test.name for test in tests if test.failed})
    if broken:
        print(f"\nfailed {len(broken)} tests")
    for name in broken:
        print(f"  {name}")
    failed = [part.name for part in parts if not part.passed]
    outcome = f"FAILED or not run: {', '.join(failed)}" if failed else "all passed"
    print(f"\n{outcome}; {len(tests)} tests in {time.monotonic() - begun:.0f} s, seed: {seed}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

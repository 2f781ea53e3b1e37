"""Flink in Java beside Rekindle: builds the programs of this folder and runs them in a JVM of their own.

Maven fetches Flink's libraries (``pom.xml``) and javac compiles the programs, once, into ``build/peers``. Every run is
a new JVM with a cluster inside. The job runs there more than once, because a fresh JVM is two to three times as slow
until it has compiled its code; the last round counts.

    python benchmarks/peers/flink.py window [--data DIRECTORY | --records N --keys K] [--parallelism P] [--rounds N]
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

Program = Literal["window", "keyed_state"]

_SOURCES = Path(__file__).resolve().parent
_BUILT = _SOURCES.parents[1] / "build" / "peers"

ROCKSDB = {"state.backend.type": "rocksdb", "taskmanager.memory.managed.size": "512m"}
"""State in RocksDB, with the memory that a task manager of Flink's default size has for it."""


class PeerError(Exception):
    """A program of Flink could not be built or run."""


@dataclass(frozen=True, slots=True)
class Generated:
    """Records that the program makes in memory instead of reading files."""

    records: int
    keys: int


@dataclass(frozen=True, slots=True)
class Result:
    """What a program did, and how long it took.

    Attributes:
        records: How many records were read.
        seconds: From the first record read to the end of the last operator.
        wall_seconds: The whole of ``execute()``, with the start and the end of the cluster.
        cpu_seconds: The time of all cores that the JVM used during ``execute()``.
        results: How many results came out.
        checksum: The sum of all sums (``window``) or of all averages (``keyed_state``). The latter depends on the order
            in which the records of a key come, if it has an odd number of them.
    """

    records: int
    seconds: float
    wall_seconds: float
    cpu_seconds: float
    results: int
    checksum: float

    @property
    def records_per_second(self) -> float:
        """The throughput of the job without the start of its cluster."""
        return self.records / self.seconds


def run(
    program: Program,
    data: str | Path | Generated,
    *,
    window_ms: int = 10_000,
    parallelism: int = 2,
    rounds: int = 3,
    heap: str = "4g",
    settings: Mapping[str, str] | None = None,
) -> Result:
    """Run a program in a new JVM, build it before if need be, and return what its last round did.

    Args:
        program: ``window``, the sum and average of each key in tumbling event-time windows; or ``keyed_state``, the
            average of every two values of a key, held in a value state.
        data: A directory of Parquet files with columns of longs: ``k``, ``v``, and for windows ``ts`` in milliseconds,
            which grows from file to file in the order of their names. Or how many records to make in memory.
        window_ms: The size of a window.
        parallelism: How many subtasks each operator has.
        rounds: How often the job runs in the JVM.
        heap: The maximum size of the JVM's heap.
        settings: Options of Flink by their keys, such as ``ROCKSDB``. By default state is on the heap and there are no
            checkpoints.

    Raises:
        PeerError: Maven or a JDK is missing, or one of them or the program failed.
    """
    options: dict[str, object] = {
        "program": program,
        "window-ms": window_ms,
        "parallelism": parallelism,
        "rounds": rounds,
    }
    if isinstance(data, Generated):
        options |= {"records": data.records, "keys": data.keys}
    else:
        options["data"] = Path(data).resolve().as_uri()
    options |= settings or {}
    with tempfile.TemporaryDirectory(prefix="rekindle-benchmark-") as scratch:
        command = [_tool("java"), f"-Xmx{heap}", f"-Djava.io.tmpdir={scratch}", "-cp", class_path(), "Peer"]
        output = _run(command + [word for key, value in options.items() for word in (f"--{key}", str(value))])
    return msgspec.json.decode(output.splitlines()[-1], type=Result)


def class_path() -> str:
    """Return the class path of the programs, after fetching and compiling what is not there yet."""
    pom = _SOURCES / "pom.xml"
    jars = _BUILT / f"jars-{_digest([pom])}"
    if not jars.exists():
        _make(jars, [_tool("mvn"), "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", "-DoutputDirectory={}"])
    sources = sorted(_SOURCES.glob("*.java"))
    classes = _BUILT / f"classes-{_digest([pom, *sources])}"
    if not classes.exists():
        _make(classes, [_tool("javac"), "-nowarn", "-cp", f"{jars}/*", "-d", "{}", *map(str, sources)])
    return f"{classes}{os.pathsep}{jars}/*"


def _make(target: Path, command: list[str]) -> None:
    """Run a command that fills a directory, which appears under its name only when it is complete."""
    _BUILT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=_BUILT) as scratch:
        unfinished = Path(scratch, target.name)
        unfinished.mkdir()
        _run([word.replace("{}", str(unfinished)) for word in command])
        if not target.exists():
            unfinished.rename(target)


def _digest(files: Iterable[Path]) -> str:
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()[:12]


def _tool(name: str) -> str:
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(name, path=os.path.join(home, "bin")) if home else None
    found = found or shutil.which(name)
    if found is None:
        raise PeerError(
            f"There is no {name} on the PATH, and Flink's programs are built with Maven and a JDK of Java 17 or 21. "
            "On Debian: apt-get install maven openjdk-17-jdk-headless"
        )
    return found


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PeerError(f"{command[0]} ended with {done.returncode}:\n{(done.stdout + done.stderr).strip()[-4000:]}")
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("program", choices=["window", "keyed_state"])
    parser.add_argument("--data", help="a directory of Parquet files; without it records are made in memory")
    parser.add_argument("--records", type=int, default=12_000_000)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rocksdb", action="store_true", help="hold state in RocksDB")
    args = parser.parse_args()
    result = run(
        args.program,
        args.data or Generated(args.records, args.keys),
        parallelism=args.parallelism,
        rounds=args.rounds,
        settings=ROCKSDB if args.rocksdb else None,
    )
    print(f"{result.records_per_second:,.0f} records/s   {result}")


if __name__ == "__main__":
    main()

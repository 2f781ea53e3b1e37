"""A job whose rows go to a table, what the table must hold in the end, and tables that keep each their promise.

Numbers from 0 on are counted by their rest of division by KEYS: the row of a number is known without running anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from rekindle.common import Row, Types, WatermarkStrategy
from rekindle.contracts.table_commit import TableCommit
from rekindle.datastream import DataStream, KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.state import ValueStateDescriptor

KEYS = 7
ROW = Types.ROW_NAMED(["number", "place"], [Types.LONG(), Types.LONG()])
Rows = list[tuple[int, int]]


class Places(KeyedProcessFunction):
    """Give each number its place among those of its key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Iterator[Row]:
        place = (self._seen.value() or 0) + 1
        self._seen.update(place)
        yield Row(number=value, place=place)


def placed(env: StreamExecutionEnvironment, count: int) -> DataStream:
    """Write the job down, up to its rows."""
    source = NumberSequenceSource(0, count - 1)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers").set_parallelism(1)
    return numbers.key_by(lambda number: number % KEYS, Types.LONG()).process(Places(), ROW).uid("places")


def golden(count: int) -> Rows:
    """Return what a table holds in the end."""
    return [(number, number // KEYS + 1) for number in range(count)]


class Table(Protocol):
    """What rows are written to; it outlives jobs."""

    def write(self, rows: Rows, commit: TableCommit) -> None:
        """Write the rows of a commit."""

    def rows(self) -> Rows:
        """Return all rows."""


@dataclass
class AppendedTable:
    """Append whatever comes: a table that knows nothing of commits."""

    appended: Rows = field(default_factory=list)

    def write(self, rows: Rows, commit: TableCommit) -> None:
        self.appended += rows

    def rows(self) -> Rows:
        return sorted(self.appended)


@dataclass
class TransactionTable:
    """Keep the last version of each app beside the rows, as Delta does, and skip what is not newer."""

    appended: Rows = field(default_factory=list)
    versions: dict[str, int] = field(default_factory=dict)

    def write(self, rows: Rows, commit: TableCommit) -> None:
        if commit.version > self.versions.get(commit.app_id, -1):
            self.versions[commit.app_id] = commit.version
            self.appended += rows

    def rows(self) -> Rows:
        return sorted(self.appended)


@dataclass
class NamedTable:
    """Keep rows under the name of their commit, as a directory for each of them does."""

    commits: dict[str, Rows] = field(default_factory=dict)

    def write(self, rows: Rows, commit: TableCommit) -> None:
        self.commits[commit.name] = rows

    def rows(self) -> Rows:
        return sorted(row for rows in self.commits.values() for row in rows)


@dataclass
class Writing:
    """Writes Arrow tables to a table, and lets something happen at a step of a commit.

    Attributes:
        table: The table.
        before: What happens at the k-th call before anything is written, by k; counted from 1 over all attempts.
        after: What happens after the k-th call has written.
        commits: All commits that were begun.
    """

    table: Table
    before: dict[int, Callable[[], None]] = field(default_factory=dict)
    after: dict[int, Callable[[], None]] = field(default_factory=dict)
    commits: list[TableCommit] = field(default_factory=list)

    def __call__(self, frame: Any, commit: TableCommit) -> None:
        self.commits.append(commit)
        number = len(self.commits)
        self.before.get(number, _nothing)()
        self.table.write(list(zip(*(column.to_pylist() for column in frame.columns), strict=True)), commit)
        self.after.get(number, _nothing)()

    def check(self) -> None:
        """Check what holds whatever fails: versions never go back, and a pair of app and version is written once."""
        for app in {commit.app_id for commit in self.commits}:
            versions = [commit.version for commit in self.commits if commit.app_id == app]
            assert versions == sorted(versions), "versions never go back"
        first = Counter(commit.name for commit in self.commits if not commit.repeated)
        assert not first or max(first.values()) == 1, "what may be a repetition says so"


def _nothing() -> None:
    pass


def fail() -> None:
    """Raise what a table that is not there for a moment would."""
    raise OSError("the table is locked")

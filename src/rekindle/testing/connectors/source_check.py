"""``check_source``: takes snapshots of a source wherever one can come, restores them, and counts its records."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from rekindle.contracts.functions import CheckpointedFunction, ListCheckpointed, ParallelSourceFunction, SourceFunction
from rekindle.graph.struct_pickling import dumps
from rekindle.runtime.operators.slot_source import SlotSource
from rekindle.testing.connectors.broken_promise import BrokenPromiseError, Promise
from rekindle.testing.connectors.source_job import CancelIgnoredError, SourceJob, SourceRaisedError
from rekindle.types.type_information import TypeInformation

__all__ = ["check_source"]

_LINES_BEFORE_CRASH = 7
_CANCELLED = 4  # runs in which the source is cancelled


def check_source(
    make_source: Callable[[], SourceFunction | SlotSource],
    expected_records: Sequence[Any] | Callable[[int], Sequence[Any]],
    *,
    parallelism: int = 2,
    rescale: bool = True,
    split_of: Callable[[Any], Hashable] | None = None,
    bounded: bool = True,
    seed: int = 0,
    snapshots: int = 60,
    timeout: float = 5.0,
    type_info: TypeInformation | None = None,
    schedule: str | None = None,
) -> None:
    """Take a snapshot of a source at every line at which one can come, restore it, and compare what it emits.

    The source runs in Rekindle's own operators, in this process. Its function runs line by line: a checkpoint is taken
    before each line that it runs outside of the checkpoint lock, the job crashes a little later, and another attempt
    goes on from the checkpoint, at times with another parallelism. Whatever happens, each record has to come once.

    Args:
        make_source: Makes the source: a function for ``add_source``, or one of Rekindle's own sources. It is pickled.
        expected_records: All records, in their order; a few dozen are enough. A function gives them by the parallelism.
        parallelism: The number of subtasks, if the function is a ParallelSourceFunction.
        rescale: Whether the source may go on with another parallelism.
        split_of: Returns to what a record belongs whose records have to stay in their order, such as a file or a
            partition. Without it the order is compared where there is one subtask.
        bounded: Whether the source ends by itself. Otherwise what comes after the expected records is ignored.
        seed: Chooses among snapshots where there are more than ``snapshots``, and how far other subtasks have come.
        snapshots: How many runs with a snapshot there are at most, of each kind.
        timeout: How many seconds a run may take before its records are compared.
        type_info: The type of the records.
        schedule: The only run to make, as an error has named it.

    Raises:
        BrokenPromiseError: The source does not keep its promise; the error tells how that was found out.
    """
    check = _SourceCheck(make_source(), expected_records, parallelism, split_of, bounded, seed, timeout, type_info)
    if schedule is not None:
        check.run(_Run.parse(schedule))
        return
    lines = check.run(_Run("plain"))
    least = 0 if lines else 1
    most = max(lines, default=len(check.expected(check.parallelism)) + 1)
    moments = list(range(least, most + 1))
    if len(moments) > snapshots:
        moments = sorted(Random(seed).sample(moments, snapshots))
    runs = [_Run("restored", moment) for moment in moments]
    if rescale and check.parallel:
        runs += [_Run("rescaled", moment) for moment in moments]
    runs += [_Run("cancelled", moment) for moment in moments[:: max(1, len(moments) // _CANCELLED)]]
    for run in runs:
        check.run(run)


@dataclass(frozen=True, slots=True)
class _Run:
    """Describe a run.

    Attributes:
        kind: What happens at the moment.
        moment: Before which line of the first subtask that is; for a source that is no function, after which record.
    """

    kind: str
    moment: int = 0

    def __str__(self) -> str:
        return f"{self.kind}:{self.moment}"

    @classmethod
    def parse(cls, text: str) -> _Run:
        """Read what ``str`` wrote."""
        kind, _, moment = text.partition(":")
        return cls(kind, int(moment or 0))


class _SourceCheck:
    """Run a source again and again."""

    def __init__(
        self,
        source: SourceFunction | SlotSource,
        expected: Sequence[Any] | Callable[[int], Sequence[Any]],
        parallelism: int,
        split_of: Callable[[Any], Hashable] | None,
        bounded: bool,
        seed: int,
        timeout: float,
        type_info: TypeInformation | None,
    ) -> None:
        self.parallel = not isinstance(source, SourceFunction) or isinstance(source, ParallelSourceFunction)
        self.parallelism = parallelism if self.parallel else 1
        self._source = source
        self._expected = expected
        self._split_of = split_of
        self._bounded = bounded
        self._seed = seed
        self._timeout = timeout
        self._type_info = type_info
        self._ordered: bool | None = None  # whether one subtask emits in the expected order when nothing happens
        try:
            self._pickled = dumps(source)
        except Exception as error:
            raise self._broken(Promise.NOT_PICKLABLE, _Run("plain"), [], [f"  {error}"]) from error

    def expected(self, parallelism: int) -> list[Any]:
        """Return the records that have to come."""
        expected = self._expected
        return list(expected(parallelism) if callable(expected) else expected)

    def run(self, run: _Run) -> list[int]:
        """Make a run; return how many lines each function has run."""
        random = Random(f"{self._seed} {run}")
        job = SourceJob(self._pickled, self._type_info)
        expected = self.expected(self.parallelism)
        try:
            job.start(self.parallelism)
            if run.kind == "cancelled":
                job.advance(self._lines(run.moment, random))
                job.cancel(min(self._timeout, 2.0))
                return job.lines()
            if run.kind != "plain":
                self._restore(job, run, random)
            job.run_to_end(lambda emitted: self._enough(emitted, expected), self._timeout)
            lines = job.lines()
        except SourceRaisedError as raised:
            cause = raised.__cause__
            evidence = ["It raised:", f"  {type(cause).__name__}: {cause}"]
            raise self._broken(Promise.RAISED, run, job.events, evidence) from cause
        except CancelIgnoredError:
            evidence = ["cancel() was called, and run(ctx) has not returned"]
            raise self._broken(Promise.NOT_CANCELLED, run, job.events, evidence) from None
        finally:
            job.end()
        self._compare(run, job, expected)
        return lines

    def _lines(self, moment: int, random: Random) -> list[int]:
        return [moment, *(random.randint(0, 2 * moment + 3) for _ in range(self.parallelism - 1))]

    def _restore(self, job: SourceJob, run: _Run, random: Random) -> None:
        """Take a snapshot, crash, and start again from it; at times twice."""
        job.advance(self._lines(run.moment, random))
        job.take(random.randint(1, 4) if job.lines() else run.moment)
        snapshot = job.snapshot()
        job.advance([random.randint(0, _LINES_BEFORE_CRASH) for _ in range(self.parallelism)])
        job.take(3)
        job.crash()
        parallelism = self.parallelism
        if run.kind == "rescaled":
            parallelism = random.choice([p for p in (1, parallelism - 1, parallelism + 1) if 0 < p != self.parallelism])
        job.start(parallelism, snapshot)
        if random.random() < 0.3:
            snapshot = job.snapshot()
            job.crash()
            job.start(self.parallelism if run.kind == "rescaled" else parallelism, snapshot)

    def _enough(self, emitted: list[tuple[int, Any]], expected: list[Any]) -> bool:
        """Return whether a source that does not end has emitted what is expected."""
        if self._bounded or len(emitted) < len(expected):
            return False
        return not (_counted(expected) - _counted([record for _, record in emitted]))

    def _compare(self, run: _Run, job: SourceJob, expected: list[Any]) -> None:
        records = [record for _, record in job.emitted]
        wanted, found = _counted(expected), _counted(records)
        missing, more = wanted - found, found - wanted
        if not self._bounded:
            more = Counter({key: count for key, count in more.items() if key in wanted})
        evidence = []
        if missing:
            evidence.append(f"Missing: {', '.join(map(str, list(missing.elements())[:8]))}")
        if more:
            evidence.append(f"Too many: {', '.join(map(str, list(more.elements())[:8]))}")
        if evidence:
            evidence.insert(0, f"Expected: each of {len(expected)} records once")
            raise self._broken(self._promise(run, bool(missing)), run, job.events, evidence)
        self._compare_order(run, job, expected, records)

    def _promise(self, run: _Run, missing: bool) -> Promise:
        source = self._source
        if run.kind == "plain":
            return Promise.WRONG_RECORDS
        if isinstance(source, SourceFunction) and not isinstance(source, CheckpointedFunction | ListCheckpointed):
            return Promise.NO_POSITION
        if run.kind == "rescaled":
            return Promise.LOSES_IN_RESCALE if missing else Promise.REPEATS_IN_RESCALE
        return Promise.LOSES if missing else Promise.REPEATS

    def _compare_order(self, run: _Run, job: SourceJob, expected: list[Any], records: list[Any]) -> None:
        split_of = self._split_of
        if split_of is None:
            if self.parallelism > 1:
                return
            in_order = records[: len(expected)] == expected
            if self._ordered is None:
                self._ordered = in_order
            if self._ordered and not in_order:
                evidence = [f"Expected: {expected!r}", f"Found: {records!r}"]
                raise self._broken(Promise.SPLIT_OUT_OF_ORDER, run, job.events, evidence)
            return
        wanted, found = _by_split(expected, split_of), _by_split(records, split_of)
        for split, own in wanted.items():
            if found[split][: len(own)] != own:
                evidence = [f"Expected of split {split!r}: {own!r}", f"Found: {found[split]!r}"]
                raise self._broken(Promise.SPLIT_OUT_OF_ORDER, run, job.events, evidence)

    def _broken(self, promise: Promise, run: _Run, events: list[str], evidence: list[str]) -> BrokenPromiseError:
        return BrokenPromiseError(type(self._source).__name__, promise, str(run), self._seed, events, evidence)


def _counted(records: Sequence[Any]) -> Counter[str]:
    return Counter(map(repr, records))


def _by_split(records: Sequence[Any], split_of: Callable[[Any], Hashable]) -> dict[Hashable, list[Any]]:
    splits: dict[Hashable, list[Any]] = defaultdict(list)
    for record in records:
        splits[split_of(record)].append(record)
    return splits

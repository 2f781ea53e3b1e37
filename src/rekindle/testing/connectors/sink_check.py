"""``check_sink``: crashes a sink at every step, and compares what is visible outside with what has to be."""

from __future__ import annotations

import gc
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

from rekindle.contracts.connectors import Sink, SinkWriter
from rekindle.contracts.functions import (
    CheckpointCommitter,
    GenericWriteAheadSink,
    SinkFunction,
    TwoPhaseCommitSinkFunction,
)
from rekindle.graph.struct_pickling import dumps
from rekindle.testing.connectors.broken_promise import BrokenPromiseError, Promise
from rekindle.testing.connectors.crash_points import CountedCalls, CrashPoint
from rekindle.testing.connectors.sink_job import SinkJob, SinkRaisedError
from rekindle.testing.connectors.sink_progress import Finding, at_least_once, exactly_once
from rekindle.testing.connectors.sink_schedules import SCHEDULES, Act, Schedule
from rekindle.types.type_information import TypeInformation

__all__ = ["check_sink"]

AnySink = Sink | SinkFunction | GenericWriteAheadSink
Guarantee = Literal["exactly-once", "at-least-once"]

_KINDS = (Sink, SinkWriter, SinkFunction, GenericWriteAheadSink, CheckpointCommitter)
_MOST_RECORDS = 100  # of a run
_LOSSES = {
    Promise.LOST_IN_CRASH,
    Promise.LOST_IN_RESCALE,
    Promise.LOST_FOR_SAVEPOINT,
    Promise.DISAPPEARED,
    Promise.NOT_SELF_CONTAINED,
}


def check_sink(
    make_sink: Callable[[], AnySink],
    read_output: Callable[[], Iterable[Any]],
    *,
    records: Callable[[int], Any] = "record-{}".format,
    guarantee: Guarantee = "exactly-once",
    parallelism: int = 2,
    seed: int = 0,
    reset: Callable[[], None] | None = None,
    ordered: bool = False,
    delayed: bool = False,
    zombies: bool = True,
    crashes: int = 200,
    type_info: TypeInformation | None = None,
    schedule: str | None = None,
) -> None:
    """Crash a sink at every step of its life, and compare what it shows with what it promises.

    The sink runs in Rekindle's own operators, in this process. Short schedules of writes, barriers, commits, aborted
    checkpoints, savepoints, crashes and changes of parallelism are run as they are; then again with a crash before
    every call of the sink, and at lines in the middle of its methods.

    Args:
        make_sink: Makes the sink: a Sink, SinkFunction, TwoPhaseCommitSinkFunction or GenericWriteAheadSink. It is
            pickled, so what it writes to must be outside of it: a server, files, or an object of an importable module.
        read_output: Returns all records that are visible outside, as ``records`` made them.
        records: Makes a record from its number; all have to be different.
        guarantee: What the sink promises.
        parallelism: The number of subtasks.
        seed: Chooses among crashes where there are more than ``crashes``.
        reset: Empties what the sink writes to; called before each run. Without it, output adds up, which is slower.
        ordered: Whether ``read_output`` returns the records of one subtask in their order, and that is to be checked.
        delayed: Whether the sink may show records later than it commits them, such as one that merges small files: then
            all of them have to be visible at the end of the job.
        zombies: Whether crashed writers stay in memory while others replace them, and some go on writing. False for a
            system in which an open transaction locks out others until its connection is gone.
        crashes: How many runs are crashed at most.
        type_info: The type of the records.
        schedule: The only run to make, as an error has named it.

    Raises:
        BrokenPromiseError: The sink does not keep its promise; the error tells how that was found out.
    """
    if guarantee not in ("exactly-once", "at-least-once"):
        raise ValueError(f"guarantee is 'exactly-once' or 'at-least-once', not {guarantee!r}")
    under_test = _SinkUnderTest(
        make_sink, read_output, records, guarantee, parallelism, seed, reset, ordered, delayed, zombies, type_info
    )
    check = _SinkCheck(under_test)
    gc.collect()
    gc.freeze()  # what is there now is no garbage: each crash collects only its own, which takes a tenth of the time
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # what crashes closes nothing
            _run_all(check, seed, crashes, schedule)
    finally:
        gc.unfreeze()


def _run_all(check: _SinkCheck, seed: int, crashes: int, schedule: str | None) -> None:
    if schedule is not None:
        name, _, crash = schedule.partition(":")
        (only,) = [found for found in SCHEDULES if found.name == name]
        check.run(only, CrashPoint.parse(crash) if crash else None)
        return
    crashed: list[tuple[Schedule, CrashPoint]] = []
    for each in SCHEDULES:
        if check.fits(each):
            lines = check.run(each, None)
            if each.crashed:
                crashed += [(each, point) for point in _crash_points(lines)]
    if len(crashed) > crashes:
        chosen = sorted(Random(seed).sample(range(len(crashed)), crashes))
        crashed = [crashed[index] for index in chosen]
    for each, point in crashed:
        check.run(each, point)


def _crash_points(lines: list[int]) -> Iterator[CrashPoint]:
    """Name all moments of a run at which a sink can be crashed, from the lines that each of its calls ran."""
    for call, count in enumerate(lines, 1):
        yield CrashPoint(call)
        yield CrashPoint(call, closes=True)
        for line in range(1, count + 1):
            yield CrashPoint(call, line, closes=(call + line) % 2 == 0)


@dataclass(frozen=True, slots=True)
class _SinkUnderTest:
    """What :func:`check_sink` was told about the sink."""

    make: Callable[[], AnySink]
    read_output: Callable[[], Iterable[Any]]
    records: Callable[[int], Any]
    guarantee: Guarantee
    parallelism: int
    seed: int
    reset: Callable[[], None] | None
    ordered: bool
    delayed: bool
    zombies: bool
    type_info: TypeInformation | None


class _SinkCheck:
    """Run one schedule after the other."""

    def __init__(self, under_test: _SinkUnderTest) -> None:
        self._under_test = under_test
        self._records = under_test.records
        self._first = 0  # number of the first record of the run
        self._numbers: dict[Hashable, int] = {}
        self._runs = 0
        self._sink = under_test.make()
        self._pickled = self._dumped()
        if under_test.reset is not None:
            under_test.reset()
        self._before = Counter(map(_key, under_test.read_output()))

    def fits(self, schedule: Schedule) -> bool:
        """Return whether a schedule means anything for the sink."""
        acts = {step.act for step in schedule.steps}
        committing = isinstance(self._sink, Sink | TwoPhaseCommitSinkFunction | GenericWriteAheadSink)
        if schedule.two_phase and not committing:
            return False
        if Act.ZOMBIE in acts and not self._under_test.zombies:
            return False
        # Its transactions are aborted with the checkpoint before the savepoint, as in Flink.
        return not (Act.FROM_SAVEPOINT in acts and isinstance(self._sink, TwoPhaseCommitSinkFunction))

    def run(self, schedule: Schedule, point: CrashPoint | None, keeps_leftovers: bool = False) -> list[int]:
        """Run a schedule.

        Args:
            schedule: What happens.
            point: When the sink is crashed besides; None: never.
            keeps_leftovers: Whether ``abort_leftovers`` is left out.

        Returns:
            How many lines each call of the sink ran.
        """
        if self._under_test.reset is not None:
            self._under_test.reset()
        self._first += _MOST_RECORDS
        self._runs += 1
        for number in range(self._first, self._first + _MOST_RECORDS):
            if self._numbers.setdefault(_key(self._records(number)), number) != number:
                raise ValueError(f"records({number}) is the same as of another number: {self._records(number)!r}")
        calls = CountedCalls(_KINDS, point)
        first = self._first
        job = SinkJob(
            self._pickled,
            lambda number: self._records(first + number),
            f"check-{self._runs}",
            self._under_test.parallelism,
            calls,
            zombies=self._under_test.zombies,
            keeps_leftovers=keeps_leftovers,
            type_info=self._under_test.type_info,
        )
        seen: set[int] = set()
        try:
            job.start()
            self._compare(job, seen)
            for step in schedule.steps:
                job.perform(step)
                self._compare(job, seen)
            job.end()
            self._compare(job, seen)
        except SinkRaisedError as raised:
            promise = Promise.NOT_SELF_CONTAINED if raised.recovering else Promise.RAISED
            if raised.again:
                promise = Promise.NOT_IDEMPOTENT
            cause = raised.__cause__
            evidence = [f"It raised when {raised.call}:", f"  {type(cause).__name__}: {cause}"]
            raise self._broken(promise, schedule, point, job, evidence, keeps_leftovers) from cause
        except _Found as found:
            raise self._broken(found.promise, schedule, point, job, found.evidence, keeps_leftovers) from None
        finally:
            job.end()
        return calls.lines

    def _dumped(self) -> bytes:
        try:
            return dumps(self._sink)
        except Exception as error:
            name = type(self._sink).__name__
            evidence = [f"  {error}"]
            raise BrokenPromiseError(
                name, Promise.NOT_PICKLABLE, "plain", self._under_test.seed, [], evidence
            ) from error

    def _compare(self, job: SinkJob, seen: set[int]) -> None:
        """Read the output, and compare it with the progress of the job."""
        progress, visible = job.progress, self._visible()
        finding: Finding | None
        if self._under_test.guarantee == "exactly-once":
            finding = exactly_once(progress, visible, seen, self._under_test.ordered, self._under_test.delayed)
        else:
            finding = at_least_once(progress, visible)
        seen.update(visible)
        if finding is None:
            return
        shown = [repr(self._records(self._first + number)) for number in finding.numbers[:8]]
        required = f"the first {progress.required} records of this run"
        allowed = "no others" if progress.required == progress.allowed else f"at most the first {progress.allowed}"
        expected = f"Expected to be visible: {required}, each once, and {allowed}"
        if self._under_test.guarantee == "at-least-once":
            expected = f"Expected to be visible: {required}"
        counts = Counter(visible)
        found = [
            f"{self._records(self._first + number)!r}{f' {count} times' if count > 1 else ''}"
            for number, count in sorted(counts.items())
        ]
        raise _Found(
            finding.promise,
            [
                expected,
                f"Found: {', '.join(found) or 'nothing'}",
                f"Wrong with: {', '.join(shown)}{', …' if len(finding.numbers) > 8 else ''}",
            ],
        )

    def _visible(self) -> list[int]:
        """Return the numbers of the records of this run that are visible, in their order."""
        visible, others = [], Counter[Hashable]()
        for value in self._under_test.read_output():
            key = _key(value)
            number = self._numbers.get(key)
            if number is None:
                others[key] += 1
            elif number >= self._first:
                visible.append(number - self._first)
        unknown = list((others - self._before).elements())
        if unknown:
            raise _Found(
                Promise.WRONG_OUTPUT,
                [
                    f"Found: {unknown[:3]}",
                    f"Written were records such as {self._records(self._first)!r}: read_output must return them so",
                ],
            )
        return visible

    def _broken(
        self,
        promise: Promise,
        schedule: Schedule,
        point: CrashPoint | None,
        job: SinkJob,
        evidence: list[str],
        keeps_leftovers: bool,
    ) -> BrokenPromiseError:
        if promise in _LOSSES and isinstance(self._sink, Sink) and not keeps_leftovers:
            job.end()
            try:
                self.run(schedule, point, keeps_leftovers=True)
                otherwise = None
            except BrokenPromiseError as error:
                otherwise = error.promise
            if otherwise is None or otherwise not in _LOSSES:
                evidence = [*evidence, "Nothing is lost in the same run when abort_leftovers does nothing"]
                promise = Promise.ABORTS_TOO_MUCH
        name = f"{schedule.name}:{point}" if point else schedule.name
        return BrokenPromiseError(type(self._sink).__name__, promise, name, self._under_test.seed, job.events, evidence)


class _Found(Exception):  # noqa: N818 - on its way to a BrokenPromiseError
    def __init__(self, promise: Promise, evidence: list[str]) -> None:
        super().__init__(promise)
        self.promise = promise
        self.evidence = evidence


def _key(value: Any) -> Hashable:
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value  # type: ignore[no-any-return]

"""Runs programs with columns on and off, in this process, and compares all that can be seen of them.

Functions are pickled as on a cluster, and modules are imported anew in each slot, as they are in another process. What
Spark's tasks do is done by the code that they run: :mod:`rekindle.runtime.exchange.column_routes`.
"""

from __future__ import annotations

import importlib
import logging
import re
import sys
import threading
import types
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa

from rekindle.checkpoint.metadata import SourcePosition
from rekindle.columns import evaluation
from rekindle.config.configuration import Configuration
from rekindle.graph.compilation import compiler
from rekindle.graph.compilation.column_chains import ColumnPaths
from rekindle.graph.job_graph import JobGraph
from rekindle.runtime.exchange import column_routes
from rekindle.runtime.exchange.column_routes import ColumnRoute
from rekindle.runtime.exchange.writers import Envelope
from rekindle.runtime.master.job_master import JobMaster
from rekindle.runtime.master.slots.slot_directory import SlotDirectory
from rekindle.runtime.master.views.progress import ProgressView
from rekindle.runtime.operators import column_folds
from rekindle.runtime.operators.column_folds import WindowFolds
from rekindle.runtime.slot.chunk_portions import Portions
from rekindle.runtime.slot.column_input import ColumnInput
from rekindle.testing import LocalEnvironment
from rekindle.testing.in_process.cluster import InProcessCluster
from rekindle.testing.in_process.epochs import FindSlot, InProcessEpochs
from rekindle.testing.in_process.slot import InProcessSlot
from support.column_cases import exact
from support.random_column_programs import SHARED_MODULE, RandomProgram

ON, OFF, PLAIN = "on", "off", "plain"
"""Whether columns are on; or off and, what is more, keys are made in the slots as those of any other stream."""

_WAITING = 4_000  # epochs without rows, in which a savepoint is taken
_USER_FRAME = re.compile(r'File ".*?(program_\w+\.py", line \d+, in .*\n.*)')
_ADDRESS = re.compile(r"0x[0-9a-f]+")


@dataclass
class Outcome:
    """What a run has shown.

    Attributes:
        results: What came out, in its order; sorted if there are several subtasks.
        error: What it failed with.
        states: The state behind each table.
        paths: How the plan says that operators run.
        ran: How often rows were processed in which way by columns.
        failures: Kernels that failed.
        savepoint: Where it was left.
    """

    results: list[Any] = field(default_factory=list)
    error: list[str] | None = None
    states: list[Any] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    ran: Counter[str] = field(default_factory=Counter)
    failures: set[str] = field(default_factory=set)
    savepoint: str | None = None

    def seen(self) -> tuple[Any, ...]:
        """Return what must not depend on whether columns are on."""
        return (self.error,) if self.error is not None else (self.results, self.states)


class _Epochs(InProcessEpochs):
    """Cut each batch up into those that one task of Spark reads, look at the state, and go on behind a savepoint."""

    def __init__(self, graph: JobGraph, find_slot: FindSlot, cluster: _Cluster) -> None:
        super().__init__(graph, find_slot)
        self.cluster = cluster
        for node, route in list(self._routes.items()):
            if isinstance(route, ColumnRoute):
                self._routes[node] = _Cut(route, cluster.batch_rows)  # type: ignore[assignment]

    def prepare(self, positions: Mapping[str, SourcePosition], now: int) -> None:
        super().prepare(positions, now)
        self._begin = {uid: min(begin, self.cluster.stopped_at) for uid, begin in self._begin.items()}

    def run(self, epoch: int, directory: SlotDirectory, unread: Collection[str], cancelled: Any) -> None:
        super().run(epoch, directory, unread, cancelled)
        tables = self.cluster.tables - sum(self._begin.values())
        if epoch <= tables:
            slots = [self._find_slot(slot.unix_name) for slot in directory.slots]
            self.cluster.states.append(_states(slots))
        if epoch > tables:
            self.cluster.waits.set()


class _Cut:
    def __init__(self, route: ColumnRoute, rows: int) -> None:
        self.route = route
        self.rows = rows

    def envelopes(self, batches: Iterator[pa.RecordBatch], epoch: int, task: int) -> Iterator[list[Envelope]]:
        pieces = (b.slice(at, self.rows) for b in batches for at in range(0, max(1, b.num_rows), self.rows))
        return self.route.envelopes(pieces, epoch, task)


class _Cluster(InProcessCluster):
    """A cluster each of whose slots imports a program's module anew.

    Attributes:
        module: The module's name; None: the program is no module.
        batch_rows: How many rows the batches have that a task reads.
        tables: How many tables there are with rows.
        stopped_at: How many of them the run that it goes on from has read at most.
        states: The state behind each table.
        waits: Set when all tables have been read.
    """

    def __init__(self, module: str | None, batch_rows: int, tables: int, stopped_at: int) -> None:
        super().__init__()
        self.module = module
        self.batch_rows = batch_rows
        self.tables = tables
        self.stopped_at = stopped_at
        self.states: list[Any] = []
        self.waits = threading.Event()

    def epochs(self, graph: JobGraph) -> InProcessEpochs:
        return _Epochs(graph, self._by_name.get, self)

    def _make_slot(self, attempt: int, index: int, job: bytes, name: str) -> InProcessSlot:
        for imported in (self.module, "shared_module"):
            sys.modules.pop(imported or "", None)
        return super()._make_slot(attempt, index, job, name)


class _Environment(LocalEnvironment):
    """Tell how operators run, and stop the job with a savepoint once it has read all rows."""

    cluster: _Cluster

    def __init__(self, configuration: Configuration, cluster: _Cluster) -> None:
        super().__init__(configuration, cluster)
        self.paths: list[str] = []
        self.master: JobMaster | None = None

    def _cluster(self, graph: JobGraph, job_name: str, view: ProgressView) -> tuple[InProcessCluster, JobGraph]:
        self.paths = [node.path for node in graph.nodes]
        return super()._cluster(graph, job_name, view)

    def _submit(self, *args: Any, **named: Any) -> JobMaster:
        self.master = super()._submit(*args, **named)
        return self.master

    @contextmanager
    def stopped_in(self, directory: str | None) -> Iterator[_Stopping]:
        """Stop the job that is run inside, if there is a directory for its savepoint."""
        stopping = _Stopping(self, directory)
        if directory is None:
            yield stopping
            return
        thread = threading.Thread(target=stopping.run, name="stops with a savepoint")
        thread.start()
        try:
            yield stopping
        finally:
            stopping.over.set()
            thread.join()


class _Stopping:
    def __init__(self, env: _Environment, directory: str | None) -> None:
        self._env = env
        self._directory = directory
        self.over = threading.Event()
        self.savepoint: str | None = None

    def run(self) -> None:
        """Wait for all rows to be read, and stop."""
        while self._env.master is None or not self._env.cluster.waits.is_set():
            if self.over.wait(0.002):
                return
        self.savepoint = self._env.master.stop_with_savepoint(self._directory, False).result(60)


def _states(slots: list[InProcessSlot | None]) -> list[Any]:
    """Return the keyed state of all slots: the operator's place, the state, the key, and the value to the bit."""
    found = []
    for slot in slots:
        assert slot is not None
        assert slot._slot is not None
        for place, running in enumerate(slot._slot._graph):
            backend = getattr(running.operator, "backend", None)
            for name, registered in getattr(backend, "_registered", {}).items():
                entries = getattr(registered.state, "_entries", {})
                found += [(place, name, repr(exact(k)), repr(exact(v))) for k, v in entries.items()]
            if hasattr(running.operator, "timer_count"):
                found.append((place, "timers of slot", slot.index, running.operator.timer_count()))
    return sorted(found, key=repr)


@contextmanager
def _counted(ran: Counter[str], failures: set[str]) -> Iterator[None]:
    """Count what really runs by columns."""

    def counts(name: str, call: Any, told: Any) -> Any:
        def counting(*args: Any) -> Any:
            result = call(*args)
            if told(result):
                ran[name] += 1
            return result

        return counting

    reduced, fold, folded = column_folds.reduced, WindowFolds.fold, column_routes.combined
    with ExitStack() as stack:
        for owner, name, made in (
            (column_routes, "keyed_rows", counts("chain", column_routes.keyed_rows, lambda rows: rows.rows)),
            (column_routes, "combined", counts("combined", folded, lambda rows: True)),
            (column_folds, "reduced", counts("fold", reduced, lambda chunk: chunk is not None)),
            (WindowFolds, "fold", counts("window", fold, bool)),
            (ColumnInput, "_processed", counts("as records", ColumnInput._processed, lambda chunk: True)),
            (evaluation, "_log_once", failures.add),
        ):
            stack.enter_context(patch.object(owner, name, made))
        yield


def run(
    program: RandomProgram, directory: Path, mode: str, stop_at: str | None = None, go_on: str | None = None
) -> Outcome:
    """Run a program.

    Args:
        program: The program.
        directory: Where its module is written.
        mode: ON, OFF or PLAIN.
        stop_at: The directory of the savepoint with which it is stopped after ``program.stop_after`` tables.
        go_on: The savepoint that it goes on from.
    """
    outcome = Outcome()
    stopped = program.stop_after or 0
    tables = program.tables[:stopped] if stop_at is not None else program.tables
    cluster = _Cluster(
        module_name(program) if program.module else None, program.batch_rows, len(tables), stopped if go_on else 0
    )
    settings = {
        **program.settings,
        "rekindle.columns.enabled": str(mode == ON).lower(),
        "restart-strategy.type": "none",
        "pipeline.auto-watermark-interval": "1 h",  # at the end of an epoch, and not by the clock in the middle of one
    }
    if go_on is not None:
        settings["execution.state-recovery.path"] = go_on
    given = list(tables)
    if stop_at is not None:
        given += [program.schema.empty_table()] * _WAITING
    with ExitStack() as stack:
        stack.enter_context(_counted(outcome.ran, outcome.failures))
        # Operators of a program that share something see it change between two portions, wherever one is cut.
        stack.enter_context(patch.object(Portions, "of", lambda portions, place, chunk, output: iter((chunk,))))
        if mode == PLAIN:
            stack.enter_context(patch.object(compiler, "find_column_paths", lambda nodes, *rest: _no_paths(nodes)))
        env: _Environment | None = None
        try:
            build = stack.enter_context(loaded(program, directory))
            env = _Environment(Configuration.from_dict(settings), cluster)
            env.set_parallelism(program.parallelism)
            stream = build(env.from_data_frame(given, "rows"))
            with env.stopped_in(stop_at) as stopping, stream.execute_and_collect() as results:
                outcome.results += map(exact, results)
            outcome.savepoint = stopping.savepoint
        except Exception as error:
            outcome.error = _described(error)
        outcome.states, outcome.paths = cluster.states, env.paths if env is not None else []
    if program.parallelism > 1:
        outcome.results.sort(key=repr)
    elif program.side:  # which of a chunk's results come first, those in time or those that are late, is not defined
        outcome.results.sort(key=lambda result: repr(result[2][0]))
    return outcome


def _no_paths(nodes: Any) -> ColumnPaths:
    return ColumnPaths(paths={node.id: "records: as drawn" for node in nodes})


@contextmanager
def loaded(program: RandomProgram, directory: Path) -> Iterator[Any]:
    """Load a program as Python does, and yield its function ``build``: as the main program, or imported by that.

    Args:
        program: The program.
        directory: Where its files are written.
    """
    name = module_name(program)
    (directory / "shared_module.py").write_text(SHARED_MODULE)
    (directory / f"{name}.py").write_text(program.source)
    main = directory / (f"main_{name}.py" if program.module else f"{name}.py")
    if program.module:
        main.write_text(f"from {name} import build\n")
    script = types.ModuleType("__main__")
    script.__file__ = str(main)
    writes, disabled = sys.dont_write_bytecode, logging.root.manager.disable
    before = sys.modules["__main__"]
    with patch.object(sys, "path", [str(directory), *sys.path]):
        sys.modules["__main__"] = script
        sys.dont_write_bytecode = True
        logging.disable(logging.ERROR)
        importlib.invalidate_caches()
        for imported in (name, "shared_module"):
            sys.modules.pop(imported, None)
        try:
            exec(compile(main.read_text(), str(main), "exec", dont_inherit=True), script.__dict__)
            yield script.__dict__["build"]
        finally:
            sys.modules["__main__"] = before
            logging.disable(disabled)
            sys.dont_write_bytecode = writes
            for imported in (name, "shared_module"):
                sys.modules.pop(imported, None)


def module_name(program: RandomProgram) -> str:
    """Return the name under which a program is imported."""
    return "program_" + re.sub(r"\W", "_", program.seed)


def _described(error: BaseException) -> list[str]:
    """Return what an error says: all of its chain, without what is of this run only."""
    lines = []
    at: BaseException | None = error
    while at is not None:
        text = _ADDRESS.sub("0x", f"{type(at).__name__}: {at}")
        head, *shown = text.split("; the traceback there was:\n")
        lines.append(re.sub(r"subtask \d+", "subtask", head))
        lines += [frame for trace in shown for frame in _USER_FRAME.findall(trace)]
        at = at.__cause__
    return lines


def fewer(program: RandomProgram, directory: Path) -> RandomProgram:
    """Return a program that still fails without columns, with as few of its rows as that takes."""

    def fails(tables: list[pa.Table]) -> bool:
        return run(replace(program, tables=tables, stop_after=None), directory, OFF).error is not None

    tables = program.tables
    for place in range(len(tables)):
        size = max(1, tables[place].num_rows // 2)
        while True:
            at = 0
            while at < tables[place].num_rows:
                table = tables[place]
                rest = pa.concat_tables([table.slice(0, at), table.slice(at + size)])
                tried = [*tables[:place], rest, *tables[place + 1 :]]
                if fails(tried):
                    tables = tried
                else:
                    at += size
            if size == 1:
                break
            size //= 2
    return replace(program, tables=tables)


def difference(program: RandomProgram, directory: Path, ran: Counter[str]) -> str | None:
    """Compare a program with columns on and off.

    Args:
        program: The program.
        directory: Where its files go.
        ran: Is told what was run by columns: "by columns" are programs whose folds or windows were.

    Returns:
        What is different; None: nothing is.
    """
    off, on = run(program, directory, program.golden), run(program, directory, ON)
    ran["programs"] += 1
    ran["failed"] += off.error is not None
    ran.update(dict.fromkeys(on.ran, 1))
    ran["by columns"] += any(name in on.ran for name in ("combined", "fold", "window"))
    if off.error is not None and on.error is not None and off.error != on.error:
        # Of several records that fail any may be the first. If it is only one, it is the same.
        program = fewer(program, directory)
        off, on = run(program, directory, program.golden), run(program, directory, ON)
    found = _told(off, on)
    if found is None and program.stop_after is not None and off.error is None:
        ran["gone on"] += 1
        found = _after_savepoint(program, directory)
    return found


def _after_savepoint(program: RandomProgram, directory: Path) -> str | None:
    """Stop a program in the middle and go on, on each path, and from each to the other."""
    halves = {mode: run(program, directory, mode, stop_at=str(directory / "savepoints")) for mode in (OFF, ON)}
    found = _told(halves[OFF], halves[ON])
    if found is not None:
        return f"up to the savepoint: {found}"
    assert halves[OFF].savepoint is not None
    assert halves[ON].savepoint is not None
    golden = run(program, directory, OFF, go_on=halves[OFF].savepoint)
    for before, after in ((ON, OFF), (OFF, ON), (ON, ON)):
        found = _told(golden, run(program, directory, after, go_on=halves[before].savepoint))
        if found is not None:
            return f"columns {before}, then {after}: {found}"
    return None


def _told(off: Outcome, on: Outcome) -> str | None:
    if off.error != on.error:
        return f"error without columns: {off.error}\nwith columns: {on.error}"
    if off.error is not None:
        return None
    if off.results != on.results:
        one, other = Counter(map(repr, off.results)), Counter(map(repr, on.results))
        if one == other:
            return "results come in another order"
        return f"results only without columns: {_some(one - other)}\nonly with: {_some(other - one)}"
    for place, (before, after) in enumerate(zip(off.states, on.states, strict=True)):
        if before != after:
            one, other = Counter(map(repr, before)), Counter(map(repr, after))
            gone, new = _some(one - other), _some(other - one)
            return f"state behind table {place}, only without columns: {gone}\nonly with: {new}"
    return None


def _some(found: Counter[str]) -> str:
    return f"{sum(found.values())}, {' | '.join(list(found)[:2])[:1000]}"

"""The operators of one slot and how records, watermarks and ends move through them.

Records are pushed chunk by chunk: an operator's output goes straight into the next operator of the slot, or into the
writer of an exchange. Watermarks go the same way, behind the records they follow. Ends, and whatever is due at the end
of an epoch, move level by level, after all records of the level.
"""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from msgspec.structs import replace

from rekindle.graph.job_graph import JobEdge, JobGraph, JobNode
from rekindle.graph.partitioning import Partitioning
from rekindle.graph.splits import Split
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.exchange.edge_serializers import EdgeSerializers
from rekindle.runtime.exchange.partition_writers import chosen_targets
from rekindle.runtime.exchange.payload import Passed, Progress
from rekindle.runtime.exchange.writers import keys_of, unhashable_key
from rekindle.runtime.operators.building import OperatorBuilder
from rekindle.runtime.operators.operator import MAX_WATERMARK, MIN_WATERMARK, Operator
from rekindle.runtime.operators.result_copies import FIXED
from rekindle.runtime.operators.roles import (
    BackgroundWork,
    ColumnOperator,
    InputGatherer,
    OutputCommitter,
    ProcessingTimeOperator,
    RecordKeeper,
    SplitFollower,
    TwoInputOperator,
    WatermarkEmitter,
)
from rekindle.runtime.operators.source_operator import SourceOperator
from rekindle.runtime.slot.arrivals import in_band_edges, record_order, senders
from rekindle.runtime.slot.column_input import ColumnInput
from rekindle.runtime.slot.failure import blaming
from rekindle.runtime.slot.progress import InputProgress, combined_watermark
from rekindle.runtime.slot.task_output import TaskOutput
from rekindle.types.spark_typeinfo import SparkRowTypeInfo
from rekindle.types.typeinfo import Types

_C = TypeVar("_C", Chunk, Chunk | None)
_NOTHING_YET = Progress(0, MIN_WATERMARK, False)
_NO_MORE = object()


class RunningNode:
    """Keep one operator with its place in the graph and its progress.

    Attributes:
        node: What it is.
        operator: What runs.
        source: The operator, if it is a source of this slot.
        two_input: The operator, if it has a second input.
        timed: The operator, if it goes by the clock.
        emitter: The operator, if its output has watermarks of its own.
        gatherer: The operator, if it holds results back until its inputs have ended.
        by_columns: The operator, if it processes records that come as columns.
        outputs: The edges to what follows.
        inputs: How far its inputs are, by their index.
        watermark: The watermark of its inputs that it knows of.
        idle: Whether all its inputs are idle.
        finished: Whether it has seen the end of its inputs.
        settled_late: Word of its inputs that counts when all records of the level are there; None: the input has ended.
        announced: What was said last on each edge.
        early: Whether it hears of watermarks, and passes them on, within an epoch.
        cutter: The operator, if its watermark may move between two of its records within this epoch.
        records_in: How many records came, counted by chunk.
        records_out: How many it has emitted.
        bytes_in: How many bytes came over exchanges, or from Spark.
        busy: For how many seconds it has worked, but for what it sends over exchanges.
    """

    __slots__ = (
        "announced",
        "busy",
        "by_columns",
        "bytes_in",
        "cutter",
        "early",
        "emitter",
        "finished",
        "gatherer",
        "idle",
        "inputs",
        "node",
        "operator",
        "outputs",
        "records_in",
        "records_out",
        "settled_late",
        "source",
        "timed",
        "two_input",
        "watermark",
    )

    def __init__(self, node: JobNode, operator: Operator, outputs: list[JobEdge], inputs: list[InputProgress]) -> None:
        self.node = node
        self.operator = operator
        self.source = operator if isinstance(operator, SourceOperator) else None
        self.two_input = operator if isinstance(operator, TwoInputOperator) else None
        self.timed = operator if isinstance(operator, ProcessingTimeOperator) else None
        self.emitter = operator if isinstance(operator, WatermarkEmitter) else None
        self.gatherer = operator if isinstance(operator, InputGatherer) else None
        self.by_columns = operator if isinstance(operator, ColumnOperator) and operator.columns is not None else None
        self.outputs = outputs
        self.inputs = inputs
        self.watermark = MIN_WATERMARK
        self.idle = False
        self.finished = False
        self.settled_late: list[tuple[int, Progress | None]] = []
        self.announced = {edge.id: _NOTHING_YET for edge in outputs}
        self.early = False
        self.cutter: WatermarkEmitter | None = None
        self.records_in = 0
        self.records_out = 0
        self.bytes_in = 0
        self.busy = 0.0

    def output_progress(self) -> Progress:
        """Return how far its output is; the producer is 0, as who is in the same slot sees it."""
        if self.emitter is None:
            return Progress(0, self.watermark, self.finished, self.idle)
        watermark = self.emitter.output_watermark(self.watermark)
        return Progress(0, watermark, self.finished, self.emitter.output_idle(self.idle))


class working(blaming):  # noqa: N801 - reads as a statement
    """Let an operator work: its time is measured, and it is to blame for what is raised."""

    __slots__ = ("_running", "_started")

    def __init__(self, running: RunningNode) -> None:
        super().__init__(running.node)
        self._running = running

    def __enter__(self) -> None:
        self._started = time.monotonic()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._running.busy += time.monotonic() - self._started
        super().__exit__(kind, error, trace)


class OperatorGraph:
    """Run the operators of one slot.

    Attributes:
        loops: What goes round in each loop, by its head.
        checkpointed: The operators whose state is part of checkpoints. In a batch job, whose only checkpoint is at its
            end, these are the sources and what has output to commit.
        background: The operators that work between epochs.
    """

    def __init__(self, graph: JobGraph, slot: int) -> None:
        self._slot = slot
        self._batch = graph.batch
        self._in_loops = frozenset[int]().union(*(iteration.body for iteration in graph.iterations))
        self._edges = graph.edges
        self._in_band = in_band_edges(graph)
        self._order = record_order(graph, slot)
        self._serializers = EdgeSerializers.of(graph.edges)
        self._column_inputs = {
            chain.edge: ColumnInput(chain, graph, slot, self._serializers[chain.edge]) for chain in graph.chains
        }
        self._nodes: dict[int, RunningNode] = {}
        self._remote_sources = {source.node for source in graph.cluster_sources}
        parallelism = {node.id: node.parallelism for node in graph.nodes}
        builder = OperatorBuilder()
        cluster_fed = {node.id for node in graph.nodes if node.cluster_fed}
        for node in graph.nodes:
            if slot < node.parallelism:
                inputs = [
                    _input_progress(edge, slot, edge.source in cluster_fed, parallelism[edge.source], node.parallelism)
                    for edge in graph.inputs(node.id)
                ]
                with blaming(node):
                    operator = builder.build(node.transformation, node.batch_memory)
                if node.columns is not None and isinstance(operator, ColumnOperator):
                    operator.columns = node.columns
                self._nodes[node.id] = RunningNode(node, operator, graph.outputs(node.id), inputs)
        self.loops = {i.head: builder.feedback_loop(graph.nodes[i.head].transformation) for i in graph.iterations}
        self._levels: list[list[RunningNode]] = [[] for _ in range(graph.levels)]
        for running in self._nodes.values():
            self._levels[running.node.level].append(running)
        self.checkpointed = [
            n for n in self if not self._batch or isinstance(n.operator, SourceOperator | OutputCommitter)
        ]
        self.background = [(n, worker) for n in self if isinstance(worker := n.operator, BackgroundWork)]
        self._keepers = [(n, keeper) for n in self if isinstance(keeper := n.operator, RecordKeeper)]
        self._sources = [(n, source) for n in self if (source := n.source) is not None]
        self._timed = [timed for n in self if (timed := n.timed) is not None]
        self._spark_roots = _spark_roots(graph)
        self.begin_epoch(0)

    def begin_epoch(self, spark_tasks: int) -> None:
        """Settle who may hear of watermarks within an epoch, in which Spark reads in so many tasks; 0: nobody knows."""
        for running in self:
            transformation = running.node.transformation
            ordered = not transformation.moves_watermark or transformation.follows_splits
            in_order = ordered or self._order.holds(running.node.id, spark_tasks)
            # A batch knows no time but its end; that of a loop is the job master's to move.
            timeless = self._batch or running.node.id in self.loops or running.node.cluster_fed
            running.early = in_order and not timeless
            running.cutter = running.emitter if running.early else None

    def assign_splits(self, splits: Mapping[int, Iterable[Split]]) -> None:
        """Let operators know which splits of their sources, by node, may have records from now on."""
        for edge in self._edges:
            if edge.source in splits and edge.target in self._nodes:
                running = self._nodes[edge.target]
                if isinstance(running.operator, SplitFollower):
                    with blaming(running.node):
                        running.operator.assign_splits(splits[edge.source])

    def __iter__(self) -> Iterator[RunningNode]:
        return iter(self._nodes.values())

    def open_inputs(self, watermark_interval_ms: int) -> None:
        """Make ready for what was run by columns before it comes here."""
        for given in self._column_inputs.values():
            given.open(watermark_interval_ms)

    def takes_whole(self, edge_id: int) -> bool:
        """Return whether chunks that come over an exchange are processed by columns, however large they are."""
        return edge_id in self._column_inputs and self._nodes[self._edges[edge_id].target].by_columns is not None

    def receive(self, edge_id: int, chunk: Chunk, output: TaskOutput) -> None:
        """Take records that came over an exchange."""
        given = self._column_inputs.get(edge_id)
        if given is not None:
            chunk = given.arrived(chunk)
            self._count(given)
            if not chunk.size():
                return
        self._arrive(self._edges[edge_id], chunk, output)

    def receive_passed(self, edge_id: int, passed: Passed) -> int:
        """Take word of a task that ran operators by columns; return how many records it has read."""
        edge = self._edges[edge_id]
        given = self._column_inputs.get(edge_id)
        if given is None:  # the source alone
            return self._count_read(edge, passed)
        watermark = given.passed(passed)
        if watermark is not None:
            self._nodes[edge.target].settled_late.append((edge.input, Progress(0, watermark, False)))
        if not passed.records:
            return 0
        into = (passed.records[0], *passed.records[:-1])
        for node, came, left in zip(given.chain.nodes, into, passed.records, strict=True):
            running = self._nodes.get(node)
            if running is not None:
                running.records_in += came
                running.records_out += left
        return passed.records[0]

    def _count_read(self, edge: JobEdge, passed: Passed) -> int:
        read = sum(passed.records)
        running = self._nodes.get(edge.source)
        if running is not None:
            running.records_in += read
            running.records_out += read
        return read

    def _count(self, given: ColumnInput) -> None:
        """Count the records of operators that had to run here; those of the first two were counted with their task."""
        emitted = given.ran()
        for place in range(1, len(emitted)):
            running = self._nodes[given.chain.nodes[place]]
            running.records_out += emitted[place]
            running.records_in += emitted[place - 1] if place > 1 else 0

    def target(self, edge_id: int) -> int:
        """Return the operator that an edge leads to."""
        return self._edges[edge_id].target

    def arrived(self, node_id: int, size: int, seconds: float) -> None:
        """Count bytes that came to an operator, and for how long they were decoded."""
        running = self._nodes[node_id]
        running.bytes_in += size
        running.busy += seconds

    def receive_source(self, node_id: int, chunk: Chunk, output: TaskOutput) -> None:
        """Take records that Spark read for a source."""
        self._run(self._nodes[node_id], chunk, output)

    def receive_progress(self, edge_id: int, progress: Progress, output: TaskOutput) -> None:
        """Take word of an upstream subtask, behind the records it has sent so far."""
        edge = self._edges[edge_id]
        if edge_id in self._in_band:
            self._arrive(edge, progress, output)
        else:
            self._nodes[edge.target].settled_late.append((edge.input, progress))

    def receive_polled(self, running: RunningNode, chunk: Chunk, output: TaskOutput) -> None:
        """Take records that a source of this slot has read."""
        source = running.source
        assert source is not None
        with working(running):
            pieces = source.pieces(chunk) if running.early else iter((source.stamped(chunk),))
        self._emit_pieces(running, pieces, output)

    def end_spark_sources(self, ended: Iterable[int]) -> None:
        """Note that Spark sources have ended with this epoch: so have all streams that come from them alone."""
        gone = set(ended)
        for edge in self._edges:
            roots = self._spark_roots.get(edge.source)
            if roots and roots <= gone and edge.target in self._nodes:
                self._nodes[edge.target].settled_late.append((edge.input, None))
        for node_id in gone & self._nodes.keys():
            self._nodes[node_id].finished = True

    def sources(self) -> list[tuple[RunningNode, SourceOperator]]:
        """Return the sources that live in this slot and have not ended."""
        return [(running, source) for running, source in self._sources if not (source.drained or running.finished)]

    def drain_sources(self) -> None:
        """End the sources that live in this slot, wherever they stand."""
        for running, source in self._sources:
            with blaming(running.node):
                source.drain()

    def keepers(self, level: int) -> list[tuple[RunningNode, RecordKeeper]]:
        """Return the operators of a level that keep records from one epoch to the next."""
        return [(running, keeper) for running, keeper in self._keepers if running.node.level == level]

    def emit(self, running: RunningNode, chunk: Chunk | None, output: TaskOutput) -> None:
        """Send records on from an operator to all that follow it."""
        if chunk is None:
            return
        running.records_out += chunk.count()
        output.note(chunk)
        given: set[str | None] = set()
        deliveries: list[tuple[JobEdge, Chunk]] = []
        for edge in running.outputs:
            part = chunk.part(edge.tag)
            if part is not None:
                # Each consumer gets records of its own: what one of them changes in place, no other may see.
                deliveries.append((edge, _copy(part) if edge.tag in given else part))
                given.add(edge.tag)
        for edge, part in deliveries:
            self._deliver(edge, part, output)

    def finish_level(self, level: int, now: int, output: TaskOutput, cluster_fed: bool = False) -> None:
        """Move time and ends through a level, after all its records of this epoch."""
        for _ in self.finishing_level(level, now, output, cluster_fed):
            pass

    def finishing_level(self, level: int, now: int, output: TaskOutput, cluster_fed: bool = False) -> Iterator[None]:
        """Do what :meth:`finish_level` does, with a pause after each chunk of what was held back until the end."""
        for running in self._levels[level]:
            if running.node.cluster_fed is cluster_fed:
                steps, more = self._advance(running, now, output), True
                while more:
                    with blaming(running.node):
                        more = next(steps, _NO_MORE) is not _NO_MORE
                    if more:
                        yield

    def clock_set(self, by: int) -> None:
        """Tell all that go by the clock that it was set."""
        for timed in self._timed:
            timed.clock_set(by)

    def advance_time(self, level: int, now: int, output: TaskOutput) -> None:
        """Fire the timers of a level that are due, among the records of an epoch."""
        if self._batch:
            return  # it has no time before its end
        for running in self._levels[level]:
            timed = running.timed
            if timed is None or running.node.cluster_fed or running.finished:
                continue
            due = timed.next_processing_timer()
            if due is not None and due <= now:
                with working(running):
                    result = timed.advance_processing_time(now)
                self.emit(running, result, output)
                if running.early:
                    self._announce(running, output)

    def next_processing_timer(self) -> int | None:
        """Return when the next processing-time timer of the slot is due."""
        return min((t for timed in self._timed if (t := timed.next_processing_timer()) is not None), default=None)

    def has_more(self) -> bool:
        """Return whether an epoch is needed at once: something can be emitted, or a source has an end to tell of."""
        return any(
            not running.finished and (source.has_more() or source.over()) for running, source in self._sources
        ) or any(not running.finished and worker.has_more() for running, worker in self.background)

    def finished(self) -> bool:
        """Return whether every operator has seen the end of its inputs."""
        return all(running.finished for running in self)

    def watermark(self) -> int:
        """Return the lowest watermark that has come to the ends of the streams in this slot."""
        ends = [running.watermark for running in self if running.inputs and not running.outputs]
        return min(ends, default=MAX_WATERMARK)

    def _arrive(self, edge: JobEdge, item: Chunk | Progress, output: TaskOutput) -> None:
        running = self._nodes[edge.target]
        if isinstance(item, Chunk):
            self._run(running, item, output, edge.side)
        else:
            running.inputs[edge.input].update(item)
            self._follow(running, output)

    def _run(self, running: RunningNode, chunk: Chunk, output: TaskOutput, side: int = 0) -> None:
        running.records_in += chunk.size()
        cutter = running.cutter
        with working(running):
            if running.by_columns is not None and not side:
                result = running.by_columns.process_columns(chunk)
                if result is None:
                    result = running.operator.process(chunk)
            elif cutter is not None:
                pieces = cutter.pieces(chunk, side)
            elif side:
                assert running.two_input is not None
                result = running.two_input.process_second(chunk)
            else:
                result = running.operator.process(chunk)
        if cutter is not None:
            self._emit_pieces(running, pieces, output)
        else:
            self.emit(running, result, output)

    def _emit_pieces(self, running: RunningNode, pieces: Iterator[Chunk | None], output: TaskOutput) -> None:
        """Send records on, and behind each piece the watermark that it has moved."""
        for piece in _timed(running, pieces):
            self.emit(running, piece, output)
            if running.early:
                self._announce(running, output)

    def _follow(self, running: RunningNode, output: TaskOutput) -> None:
        """Let an operator know how far its inputs are, among the records of an epoch; ends come when these are over."""
        if not running.early or all(progress.ended for progress in running.inputs):
            return
        watermark, running.idle = combined_watermark(running.inputs, running.watermark)
        if watermark > running.watermark:
            running.watermark = watermark
            with working(running):
                result = running.operator.advance_watermark(watermark)
            self.emit(running, result, output)
        self._announce(running, output)

    def _deliver(self, edge: JobEdge, chunk: Chunk, output: TaskOutput) -> None:
        if edge.exchange:
            if edge.typed_keys and edge.partitioner.key_selector is not None:
                chunk = self._converted(edge, chunk)
            with blaming(self._nodes[edge.source].node):
                output.write(edge, chunk)
            return
        target = self._nodes[edge.target]
        serializers = self._serializers[edge.id]
        if edge.typed_keys:
            chunk = self._converted(edge, chunk)
        if edge.partitioner.kind is Partitioning.HASH:
            with blaming(target.node):
                keys = keys_of(edge, target.node.name, chunk.values, serializers)
                try:
                    deque(map(hash, keys), maxlen=0)
                except TypeError as error:
                    raise unhashable_key(keys, target.node.name) from error
                chunk = Chunk(chunk.values, chunk.timestamps, keys)
        elif edge.partitioner.kind is Partitioning.CUSTOM:
            with blaming(self._nodes[edge.source].node):
                chosen_targets(edge, target.node.name, chunk.values, 1)  # raises if it chooses any but the only one
        if not edge.typed_keys:
            chunk = self._converted(edge, chunk)
        self._arrive(edge, chunk, output)

    def _converted(self, edge: JobEdge, chunk: Chunk) -> Chunk:
        serializer = self._serializers[edge.id].values
        if serializer is None:
            return chunk
        if chunk.columnar and edge.source in self._remote_sources and isinstance(edge.type_info, SparkRowTypeInfo):
            return chunk  # rows as Spark read them are of the type that follows from their schema
        if chunk.is_text() and edge.type_info == Types.STRING():
            return chunk
        with blaming(self._nodes[edge.source].node):
            return Chunk(serializer.converted(chunk.values), chunk.timestamps, chunk.keys)

    def _advance(self, running: RunningNode, now: int, output: TaskOutput) -> Iterator[None]:
        """Let an operator see that all records of an epoch are there: times, watermarks and ends."""
        for index, progress in running.settled_late:
            running.inputs[index].settle(progress)
        running.settled_late = []
        operator = running.operator
        if running.timed is not None:
            with working(running):
                result = running.timed.advance_processing_time(now)
            self.emit(running, result, output)
        running.idle = False
        if running.source is not None:
            watermark, ended = MIN_WATERMARK, running.source.over()
        elif running.inputs:
            watermark, running.idle = combined_watermark(running.inputs, running.watermark)
            ended = all(progress.ended for progress in running.inputs)
            if running.node.id in self.loops:
                watermark, ended = self.loops[running.node.id].input_progress(watermark, ended)
        else:
            watermark, ended = MIN_WATERMARK, running.finished
        if self._batch and not ended and running.node.id not in self._in_loops:
            watermark = MIN_WATERMARK  # a batch knows no watermark but the end
        if ended and not running.finished and running.gatherer is not None:
            for chunk in _timed(running, running.gatherer.held_back()):
                self.emit(running, chunk, output)
                yield
        if watermark > running.watermark:
            running.watermark = watermark
            with working(running):
                result = operator.advance_watermark(watermark)
            self.emit(running, result, output)
        if ended and not running.finished:
            with working(running):
                result = operator.finish()
            self.emit(running, result, output)
            running.finished = True
        self._announce(running, output, level_over=True)

    def _announce(self, running: RunningNode, output: TaskOutput, level_over: bool = False) -> None:
        """Say how far an operator's output is, behind its records: to all, or to those that may know it now."""
        progress = running.output_progress()
        for edge in running.outputs:
            if running.announced[edge.id] == progress or not (level_over or edge.id in self._in_band):
                continue
            running.announced[edge.id] = progress
            if not edge.exchange:
                self._pass_on(edge, progress, output, level_over)
            elif not running.node.cluster_fed:
                output.announce(edge, replace(progress, producer=self._slot))

    def _pass_on(self, edge: JobEdge, progress: Progress, output: TaskOutput, level_over: bool) -> None:
        """Say to an operator of this slot how far an input is; at the end of a level its own turn comes."""
        target = self._nodes[edge.target]
        if not level_over:
            self._arrive(edge, progress, output)
        else:
            target.inputs[edge.input].update(progress)


def _timed(running: RunningNode, chunks: Iterable[_C]) -> Iterator[_C]:
    """Return chunks one by one; the time that each takes is the operator's."""
    following = iter(chunks)
    while True:
        started = time.monotonic()
        try:
            chunk = next(following)
        except StopIteration:
            return
        finally:
            running.busy += time.monotonic() - started
        yield chunk


def _copy(chunk: Chunk) -> Chunk:
    if set(map(type, chunk.values)) <= FIXED:
        return chunk
    return Chunk(pickle.loads(pickle.dumps(chunk.values, 5)), chunk.timestamps, chunk.keys)


def _input_progress(edge: JobEdge, subtask: int, cluster_fed: bool, sources: int, targets: int) -> InputProgress:
    """Expect word of all subtasks that send to a subtask over an edge."""
    if not edge.exchange or cluster_fed:
        # All tasks of a Spark source count as one producer: only the job master knows when the last is done.
        return InputProgress(1)
    producers = senders(edge, subtask, sources, targets)
    return InputProgress(len(producers), producers.start)


def _spark_roots(graph: JobGraph) -> dict[int, set[int]]:
    """Return for each node that only Spark sources feed, without an exchange, which ones they are."""
    roots: dict[int, set[int]] = {source.node: {source.node} for source in graph.cluster_sources}
    for node in graph.nodes:
        if node.cluster_fed and node.id not in roots:
            roots[node.id] = set().union(*(roots[edge.source] for edge in graph.inputs(node.id)))
    return roots

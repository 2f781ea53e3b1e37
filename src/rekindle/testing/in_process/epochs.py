"""The epochs of one attempt in this process: what Spark's tasks and shuffles do, by calls from slot to slot."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from rekindle.checkpoint.metadata import SourcePosition
from rekindle.exceptions import NotSupportedError, SlotLostError, SlotProtocolError
from rekindle.graph.job_graph import ClusterSource, JobGraph
from rekindle.graph.splits import Split
from rekindle.graph.transformations.sources import TextFiles
from rekindle.runtime.exchange.column_routes import ColumnRoute, column_routes
from rekindle.runtime.exchange.split_routes import SplitRoute, split_routes
from rekindle.runtime.exchange.writers import Envelope
from rekindle.runtime.master.cluster import Epoch
from rekindle.runtime.master.slots.slot_directory import SlotDirectory
from rekindle.runtime.slot.slot import Frames
from rekindle.runtime.wire import messages as m
from rekindle.testing.in_process.arrow_frames import ArrowFrame, frames_of
from rekindle.testing.in_process.epoch_loop import InProcessEpochLoop
from rekindle.testing.in_process.slot import InProcessSlot
from rekindle.testing.in_process.text_lines import found_files, line_batches

FindSlot = Callable[[str], InProcessSlot | None]
"""Finds a slot by its name; None: it is gone."""


class InProcessEpochs:
    """Run the epochs of an attempt, see :class:`rekindle.runtime.master.cluster.ClusterEpochs`.

    Raises:
        NotSupportedError: The job reads something that only Spark can read.
        InvalidProgramError: It reads files that are not there.
    """

    def __init__(self, graph: JobGraph, find_slot: FindSlot) -> None:
        self._graph = graph
        self._find_slot = find_slot
        self._files: dict[str, _OpenedFiles] = {}
        self._tables: dict[str, tuple[int, ArrowFrame]] = {}
        for source in graph.cluster_sources:
            frame: Any = source.data_frame
            if isinstance(frame, ArrowFrame):
                self._tables[source.uid] = source.node, frame
            else:
                self._files[source.uid] = _OpenedFiles(source)
        self._routes: dict[int, ColumnRoute | SplitRoute] = {**column_routes(graph)} if self._tables else {}
        self._split = split_routes(graph, {})
        self._routes |= self._split
        self._begin: dict[str, int] = {}  # the table with which each stream of tables begins
        self._draining = False
        self._parallelism = {node.id: node.parallelism for node in graph.nodes}
        levels = {node.id: node.level for node in graph.nodes}
        self._edge_levels = [levels[edge.target] for edge in graph.edges]
        self._polled_slots = graph.polled_slots if graph.hosts_sources else 0

    @property
    def bounded_frames(self) -> set[str]:
        """Return the files and single tables to be read, by the uid of their source."""
        return {*self._files, *(uid for uid, (_, frame) in self._tables.items() if not frame.streaming)}

    def prepare(self, positions: Mapping[str, SourcePosition], now: int) -> None:
        """Let streams of tables begin where they were."""
        for uid in self._streams():
            self._begin[uid] = int(positions[uid].offsets[0]) if uid in positions else 0

    def start(self, slots: SlotDirectory, run_epoch: Callable[[Epoch], None]) -> InProcessEpochLoop:
        """Let epochs begin, once somebody asks for the first."""
        loop = InProcessEpochLoop(lambda number: run_epoch(InProcessEpoch(self, number, slots, lambda: loop.stopped)))
        return loop

    def positions(self, epoch: int) -> list[SourcePosition]:
        """Return which table each stream would read next."""
        return [SourcePosition(uid, [str(self._begin[uid] + epoch)], []) for uid in sorted(self._streams())]

    def moved(self, epoch: int) -> set[str]:
        """Return the streams that had a table left for an epoch."""
        return {uid for uid in self._streams() if self._begin[uid] + epoch <= len(self._tables[uid][1].tables)}

    @property
    def delimited(self) -> set[str]:
        """Return nothing: tables end with the last."""
        return set()

    def ended(self, epoch: int) -> set[str]:
        """Return nothing: no table knows that it is the last."""
        return set()

    def splits(self, epoch: int) -> dict[str, list[Split]]:
        """Return the splits in the tables of streams whose splits are followed."""
        return {uid: frame.splits for uid, (node, frame) in self._tables.items() if node in self._split}

    def source_tasks(self, epoch: int) -> int:
        """Count the tasks in which streams of tables are read."""
        return sum(len(self._tables[uid][1].tasks(self._begin[uid] + epoch - 1)) for uid in self._streams())

    def drain(self) -> None:
        """Read no table any more."""
        self._draining = True

    def _streams(self) -> list[str]:
        return [uid for uid, (_, frame) in self._tables.items() if frame.streaming]

    def close(self) -> None:
        """Do nothing: nothing is kept."""

    def run(self, epoch: int, directory: SlotDirectory, unread: Collection[str], cancelled: Callable[[], bool]) -> None:
        """Run the tasks of an epoch, level after level, and carry what leaves a slot to the next."""
        exchanged: defaultdict[tuple[int, int], list[tuple[int, bytearray]]] = defaultdict(list)

        def send(envelope: Envelope) -> None:
            edge, target, payload = envelope
            exchanged[self._edge_levels[edge], target].append((edge, bytearray(payload)))

        def run_task(slot: int, task: m.OpenTask, frames: Frames) -> None:
            if cancelled():
                raise SlotProtocolError(f"epoch {epoch} was cut off")
            running = self._find_slot(directory.slots[slot].unix_name)
            if running is None:
                raise SlotLostError(f"slot {slot} is gone", slot)
            running.run_task(task, frames, send, cancelled)

        attempt = directory.attempt
        read = {uid: 0 for uid in self._tables if uid in unread}
        if not self._draining:
            read |= {uid: self._begin[uid] + epoch - 1 for uid in self._streams()}
        for uid, place in read.items():
            node, frame = self._tables[uid]
            for number, batch in enumerate(frame.tasks(place)):
                if node in self._routes:
                    for envelopes in self._routes[node].envelopes(iter([batch]), epoch, number):
                        for envelope in envelopes:
                            send(envelope)
                elif batch.num_rows:
                    task = m.OpenTask(attempt, epoch, 0, number, 0, source=node)
                    run_task(number % self._parallelism[node], task, frames_of(batch))
        for uid in self._files.keys() & set(unread):
            files = self._files[uid]
            for partition, path in enumerate(files.paths):
                task = m.OpenTask(attempt, epoch, 0, partition, 0, source=files.node)
                run_task(partition % self._parallelism[files.node], task, line_batches(path, files.as_bytes))
        for slot in range(self._polled_slots):
            run_task(slot, m.OpenTask(attempt, epoch, 0, slot, 0, poll=True), iter(()))
        for level in range(1, self._graph.levels):
            for slot in range(self._graph.slots):
                task = m.OpenTask(attempt, epoch, level, slot, 0)
                run_task(slot, task, _consumed(exchanged.pop((level, slot), [])))


class InProcessEpoch:
    """Run one epoch, see :class:`rekindle.runtime.master.cluster.Epoch`."""

    def __init__(
        self, epochs: InProcessEpochs, number: int, slots: SlotDirectory, cancelled: Callable[[], bool]
    ) -> None:
        self._epochs = epochs
        self._number = number
        self._slots = slots
        self._cancelled = cancelled

    @property
    def number(self) -> int:
        """Return its number."""
        return self._number

    def source_tasks(self) -> int:
        """Count the tasks in which streams of tables are read."""
        return self._epochs.source_tasks(self._number)

    def run(self, unread: Collection[str], draining: bool) -> None:
        """Run all tasks of the epoch."""
        if draining:
            self._epochs.drain()
        self._epochs.run(self._number, self._slots, unread, self._cancelled)


class _OpenedFiles:
    """The files of a source."""

    def __init__(self, source: ClusterSource) -> None:
        files = source.data_frame
        if not isinstance(files, TextFiles) or files.monitored:
            what = "a directory that is monitored" if isinstance(files, TextFiles) else "a DataFrame"
            raise NotSupportedError(
                f"source {source.uid!r} is {what}, which only Spark can read, and rekindle.testing.local_environment() "
                "runs without it. Give the records with env.from_collection(…) in the test, or rows as an Arrow table "
                "with env.from_data_frame(…), or run it on Spark with "
                "StreamExecutionEnvironment.get_execution_environment()"
            )
        self.node = source.node
        self.as_bytes = files.as_bytes
        self.paths = found_files(files)


def _consumed(frames: list[tuple[int, bytearray]]) -> Iterator[tuple[int, bytearray]]:
    """Hand out frames, and let go of each."""
    frames.reverse()
    while frames:
        yield frames.pop()

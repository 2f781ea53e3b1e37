"""Merges the pending files of one subtask before they become visible.

Small files wait, as part of each checkpoint, until they are due. A thread then writes a file with the contents of all
of them, which is pending, too; the next checkpoint has it in their place. They are removed when that checkpoint is
complete and the merged file is visible: whichever checkpoint a job goes back to, what it refers to is there.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO

import msgspec

from rekindle.connectors.files import file_sink_paths as paths
from rekindle.connectors.files.file_committables import FileCommittable, HeldFile, MergedFile
from rekindle.connectors.files.file_compaction import FileCompactor, FileCompactStrategy, due_groups
from rekindle.connectors.files.sink_files import FileSinkError, SinkFiles
from rekindle.formats.bulk_writer import BulkWriterFactory


@dataclass(slots=True)
class _Merge:
    """A merge under way."""

    group: list[HeldFile]
    target: paths.PartPaths
    result: Future[MergedFile]


class Compaction:
    """Hold files until they are due, and merge them."""

    def __init__(
        self,
        strategy: FileCompactStrategy,
        compactor: FileCompactor,
        written_by: BulkWriterFactory,
        files: SinkFiles,
        base_path: str,
        naming: paths.PartNaming,
        executor: Executor | None = None,
    ) -> None:
        """Begin with no files.

        Args:
            strategy: When files are due.
            compactor: How they become one.
            written_by: The format of the sink.
            files: The file system.
            base_path: The base path of the sink.
            naming: Names merged files.
            executor: Runs merges; None: threads of its own.
        """
        self._strategy = strategy
        self._compactor = compactor
        self._written_by = written_by
        self._files = files
        self._base_path = base_path
        self._naming = naming
        self._executor = executor
        self._held: dict[str, HeldFile] = {}  # by their pending names, the oldest first
        self._merges: list[_Merge] = []
        self._ready: list[FileCommittable | MergedFile] = []
        self._closed = threading.Event()

    def hold(self, file: HeldFile) -> None:
        """Let a file wait; one that a restored checkpoint holds, or a new one."""
        known = self._held.get(file.pending)
        if known is None or known.checkpoints < file.checkpoints:
            self._held[file.pending] = file

    def holds(self, pending: str) -> bool:
        """Return whether a file waits here."""
        return pending in self._held

    def prepare(self, counter: Iterable[int], last: bool) -> list[FileCommittable | MergedFile | HeldFile]:
        """Return what the next checkpoint is to hold of the files that wait.

        Args:
            counter: Numbers merged files.
            last: Whether no file follows: none waits any longer, and merges are waited for.

        Raises:
            FileSinkError: A merge failed. What it was to merge waits, and is merged anew.
        """
        self._take_results(wait=last)
        busy = {file.pending for merge in self._merges for file in merge.group}
        for waiting in self._mergeable(busy):
            for group in due_groups(waiting, self._strategy, last):
                self._begin(group, counter)
        if last:
            self._take_results(wait=True)
        self._held = {
            name: msgspec.structs.replace(file, checkpoints=file.checkpoints + 1) for name, file in self._held.items()
        }
        ready, self._ready = self._ready, []
        return [*ready, *self._held.values()]

    def wait(self) -> None:
        """Wait for the merges under way, whose results stay for the next checkpoint."""
        for merge in self._merges:
            merge.result.exception()

    def close(self) -> None:
        """End the merges under way, and remove what no checkpoint knows of."""
        self._closed.set()
        if isinstance(self._executor, ThreadPoolExecutor):
            self._executor.shutdown(cancel_futures=True)
        unknown = [merge.target.pending for merge in self._merges]
        unknown += [file.pending for file in self._ready if isinstance(file, MergedFile)]
        self._merges, self._ready, self._held = [], [], {}
        for pending in unknown:
            self._files.remove(pending)

    def _mergeable(self, busy: set[str]) -> list[list[HeldFile]]:
        """Return the files that no merge takes yet: of one bucket and one writer in each list."""
        found: dict[tuple[str, str], list[HeldFile]] = {}
        for file in self._held.values():
            if file.pending not in busy:
                key = paths.directory_of(file.pending), _writer_of(file).token
                found.setdefault(key, []).append(file)
        return list(found.values())

    def _begin(self, group: list[HeldFile], counter: Iterable[int]) -> None:
        if len(group) == 1 or not self._compactor.joins:
            for file in group:
                self._ready.append(file.as_it_is())
                del self._held[file.pending]
            return
        directory = paths.directory_of(group[0].pending)
        number = next(iter(counter))
        target = self._naming.merged(directory, number, _writer_of(group[0]), _writer_of(group[-1]))
        if self._executor is None:
            self._executor = ThreadPoolExecutor(self._strategy.num_compact_threads, "file-compaction")
        self._merges.append(_Merge(group, target, self._executor.submit(self._merged, group, target)))

    def _take_results(self, wait: bool) -> None:
        for merge in list(self._merges):
            if not (wait or merge.result.done()):
                continue
            self._merges.remove(merge)  # if it failed, its files wait for another
            self._ready.append(merge.result.result())
            for file in merge.group:
                del self._held[file.pending]

    def _merged(self, group: list[HeldFile], target: paths.PartPaths) -> MergedFile:
        """Write a file with the contents of several, until it is pending."""
        opened = [partial(open_hidden, self._files, file.pending) for file in group]
        written = target.pending if self._files.whole_at_once else target.in_progress
        stream = self._files.create(written)
        size = 0
        try:
            for data in self._compactor.merged(opened, self._written_by):
                if self._closed.is_set():
                    raise FileSinkError(f"the file sink was closed while it merged {self._files.describe(written)}")
                self._files.append(written, stream, data)
                size += len(data)
            self._files.seal(written, stream)
        except BaseException:
            with contextlib.suppress(OSError, ValueError):
                stream.close()
            self._files.remove(written)
            raise
        if written != target.pending:
            self._files.rename(written, target.pending)
        self._files.sync_directories([paths.directory_of(target.pending)])
        return MergedFile(target.pending, target.finished, size, self._base_path, tuple(f.pending for f in group))


def open_hidden(files: SinkFiles, pending: str) -> BinaryIO:
    """Open a file that is pending, or was kept for a savepoint."""
    name = pending if files.size(pending) is not None else paths.kept(pending)
    return files.open(name)


def _writer_of(file: HeldFile) -> paths.HiddenFile:
    hidden = paths.parse_hidden(file.pending)
    assert hidden is not None  # the name of a pending file, as a writer made it
    return hidden

"""Files of a file sink whose operations fail when a test says so, and a job with one sink that is killed there.

The job is the smallest that has a barrier, a checkpoint and a restart: records go to a writer, as the operator of a
sink calls it, and what a completed checkpoint holds is all that a restart knows.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from rekindle.base.clock import SystemClock
from rekindle.connectors.files.file_sink_writer import FileSinkSettings, FileSinkWriter
from rekindle.connectors.files.sink_files import SinkFiles
from rekindle.contracts.connectors import SinkWriterContext


class Killed(BaseException):
    """The process ends here."""


class BrokenSinkFiles(SinkFiles):
    """Count the operations of real files, and end the process at one of them: before it, or right after it.

    On a store whose rename is a copy and a removal, a kill may come in between: then both names are there.
    """

    def __init__(self, files: SinkFiles, kill_at: float = float("inf"), after: bool = False) -> None:
        self._files = files
        self.base = files.base
        self.whole_at_once = files.whole_at_once
        self.copies_to_rename = files.whole_at_once
        self.operations: list[str] = []
        self.dead = False
        self._streams: list[BinaryIO] = []
        self._kill_at = kill_at
        self._after = after

    def _do(self, name: str, operation: Callable[[], Any], half: Callable[[], Any] | None = None) -> Any:
        if self.dead:
            raise Killed(f"{name}, of a dead process")
        self.operations.append(name)
        if len(self.operations) - 1 != self._kill_at:
            return operation()
        self.dead = True
        if self._after:
            (half or operation)()
        raise Killed(name)

    def _tracked(self, stream: BinaryIO) -> BinaryIO:
        self._streams.append(stream)
        return stream

    def close_streams(self) -> None:
        """Close the files that the dead process had open, as its end would."""
        for stream in self._streams:
            with contextlib.suppress(OSError, ValueError):
                stream.close()

    def create_base(self) -> None:
        self._do("create_base", self._files.create_base)

    def create(self, path: str) -> BinaryIO:
        stream: BinaryIO = self._do("create", lambda: self._tracked(self._files.create(path)))
        return stream

    def open(self, path: str) -> BinaryIO:
        stream: BinaryIO = self._do("open", lambda: self._tracked(self._files.open(path)))
        return stream

    def append(self, path: str, stream: BinaryIO, data: bytes) -> None:
        half = data[: len(data) // 2]
        self._do("append", lambda: self._files.append(path, stream, data), lambda: stream.write(half))

    def seal(self, path: str, stream: BinaryIO) -> None:
        self._do("seal", lambda: self._files.seal(path, stream))

    def rename(self, source: str, target: str) -> None:
        self._do(
            "rename",
            lambda: self._files.rename(source, target),
            (lambda: self._copy(source, target)) if self.copies_to_rename else None,
        )

    def _copy(self, source: str, target: str) -> None:
        with self._files.open(source) as stream:
            data = stream.read()
        copy = self._files.create(target)
        self._files.append(target, copy, data)
        self._files.seal(target, copy)

    def sync_directories(self, directories: Iterable[str]) -> None:
        self._do("sync", lambda: self._files.sync_directories(directories))

    def size(self, path: str) -> int | None:
        size: int | None = self._do("size", lambda: self._files.size(path))
        return size

    def remove(self, path: str) -> None:
        self._do("remove", lambda: self._files.remove(path))

    def walk(self) -> list[str]:
        found: list[str] = self._do("walk", self._files.walk)
        return found


class AtOnce(Executor):
    """Merge files at once, in the thread that asks for it: each run of a test does the same."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(function(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@dataclass
class SinkJob:
    """A job with one sink: its chunks, a checkpoint after each, and where it is.

    Attributes:
        settings: The sink.
        files: Opens the files.
        chunks: What the source has.
        completed: What the last completed checkpoint holds: how many chunks were read, and what is to commit.
        attempts: How often it was started.
    """

    settings: FileSinkSettings
    files: Callable[[], SinkFiles]
    chunks: Sequence[list[Any]]
    completed: tuple[int, list[bytes]] = (0, [])
    attempts: int = 0
    done: bool = False
    operations: list[str] = field(default_factory=list)

    def run(self, kill_at: float = float("inf"), after: bool = False) -> bool:
        """Run from the last completed checkpoint to the end, or until it is killed; return whether it ended."""
        files = BrokenSinkFiles(self.files(), kill_at, after)
        self.operations = files.operations
        context = SinkWriterContext(0, 1, self.attempts, "job-sink", SystemClock())
        self.attempts += 1
        try:
            files.create_base()
            writer = FileSinkWriter(self.settings, files, context, AtOnce())
            position, pending = self.completed
            if pending:
                writer.commit(pending)
            writer.abort_leftovers()
            for number in range(position, len(self.chunks)):
                writer.write(self.chunks[number], None)
                if number == len(self.chunks) - 1:
                    writer.end_input()
                committables = writer.prepare_commit(number + 1)
                self.completed = number + 1, committables  # the checkpoint is complete, whatever follows
                writer.commit(committables)
            writer.close()
        except Killed:
            files.close_streams()
            return False
        return True


def kill_everywhere(make: Callable[[], SinkJob], check: Callable[[SinkJob], None], together: int = 1) -> int:
    """Kill a job before and after each of its operations, let another go on, and check the result; count the kills.

    Args:
        make: Makes a job, each with a directory of its own.
        check: Checks what a job left.
        together: How many jobs run at the same time, on a storage that is slow to answer.
    """
    golden = make()
    assert golden.run()
    check(golden)

    def killed(kill: tuple[int, bool]) -> None:
        place, after = kill
        job = make()
        assert not job.run(place, after), f"operation {place} was never reached"
        killed_in = job.operations[-1]
        assert job.run(), "the second attempt was not killed"
        try:
            check(job)
        except AssertionError as error:
            raise AssertionError(f"killed {'after' if after else 'before'} {place} ({killed_in}): {error}") from error

    kills = [(place, after) for place in range(len(golden.operations)) for after in (False, True)]
    with ThreadPoolExecutor(together) as pool:
        return len(list(pool.map(killed, kills)))

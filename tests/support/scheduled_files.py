"""Storage that several writers share, one operation at a time, in an order that a seed decides.

Every writer is a thread, and runs only while it is its turn: from one operation on the storage to the next. So one seed
gives one history, with pauses and crashes between any two operations.
"""

from __future__ import annotations

import errno
import io
import random
import threading
from collections.abc import Callable
from typing import BinaryIO

from rekindle.checkpoint.storage import CheckpointFiles


class CrashedError(BaseException):
    """The writer is no more; nothing in the product may catch this."""


class Schedule:
    """Run writers against each other.

    Args:
        seed: Decides who goes on when, and who crashes.
        crash: How likely a writer crashes before an operation.
    """

    def __init__(self, seed: int, crash: float = 0.01) -> None:
        self.random = random.Random(seed)
        self.stored: dict[str, bytes] = {}
        self._crash = crash
        self._back = threading.Semaphore(0)
        self._waiting: dict[str, threading.Semaphore] = {}
        self._doomed: set[str] = set()
        self._errors: list[BaseException] = []

    def run(self, writers: dict[str, Callable[[CheckpointFiles], None]]) -> None:
        """Let all writers run to their end; raise what went wrong in one of them."""
        threads = [threading.Thread(target=self._write, args=item, daemon=True) for item in writers.items()]
        for name in writers:
            self._waiting[name] = threading.Semaphore(0)
        for thread in threads:
            thread.start()
        favourite = ""
        while self._waiting:
            # Now and then one is favoured, so that the others pause for long.
            if favourite not in self._waiting or self.random.random() < 0.05:
                favourite = self.random.choice([*self._waiting, ""])
            name = favourite if favourite and self.random.random() < 0.9 else self.random.choice([*self._waiting])
            if self.random.random() < self._crash:
                self._doomed.add(name)
            self._waiting[name].release()
            self._back.acquire()
        for thread in threads:
            thread.join()
        if self._errors:
            raise self._errors[0]

    def turn(self, name: str) -> None:
        """Wait until it is a writer's turn again."""
        self._back.release()
        self._waiting[name].acquire()
        if name in self._doomed:
            raise CrashedError

    def _write(self, name: str, writer: Callable[[CheckpointFiles], None]) -> None:
        try:
            self._waiting[name].acquire()
            writer(ScheduledFiles(self, name))
        except CrashedError:
            pass
        except BaseException as error:
            self._errors.append(error)
        finally:
            del self._waiting[name]
            self._back.release()


class ScheduledFiles(CheckpointFiles):
    """Give one writer's view of the storage."""

    root = "memory"

    def __init__(self, schedule: Schedule, name: str) -> None:
        self._schedule = schedule
        self._name = name

    def write(self, path: str, source: BinaryIO) -> int:
        raise NotImplementedError

    def create(self, path: str, data: bytes) -> None:
        self._schedule.turn(self._name)
        with self._explaining("create", path):
            if path in self._schedule.stored:
                raise FileExistsError(errno.EEXIST, "it exists already", path)
            self._schedule.stored[path] = data

    def open(self, path: str) -> BinaryIO:
        self._schedule.turn(self._name)
        with self._explaining("read", path):
            if path not in self._schedule.stored:
                raise FileNotFoundError(errno.ENOENT, "no such file", path)
            return io.BytesIO(self._schedule.stored[path])

    def list(self, directory: str) -> list[str]:
        """List as a file system may: of what comes or goes meanwhile, some is seen and some is not."""
        self._schedule.turn(self._name)
        before = set(self._schedule.stored)
        self._schedule.turn(self._name)
        after = set(self._schedule.stored)
        seen = {path for path in before ^ after if self._schedule.random.random() < 0.5} | (before & after)
        return sorted(path.rpartition("/")[2] for path in seen if path.startswith(directory + "/"))

    def delete(self, path: str) -> None:
        self._schedule.turn(self._name)
        self._schedule.stored.pop(path, None)

"""A checkpoint of a database that is made beside the job.

In the stop, caches hand over the cells that RocksDB does not have yet. They are encoded into a file where all state in
memory is encoded, in a forked copy of the process or on the spot; then they are written to the database, and it is
copied. Until that is done nothing else is written to it, so that the copy holds the state exactly as it was at the
barrier: a thread that has to write, or to walk through entries, waits for that, or does it where nobody else has begun.
"""

from __future__ import annotations

import os
import struct
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, groupby, islice
from operator import itemgetter
from threading import Event, Lock
from typing import Any, BinaryIO, cast

import msgspec

from rekindle.exceptions import CheckpointError
from rekindle.state.rocksdb.database import Database, WriteBarrier, WriteBuffer
from rekindle.state.rocksdb.table import StateTable
from rekindle.state.rocksdb.unverified_entries import Batch

_PORTION = 1024
_BUFFER = 1 << 20
_LENGTH = struct.Struct(">I")
_ENCODED = b"."

_Portion = tuple[int, list[tuple[bytes, bytes | None]]]
"""Changes to a state or to timers, by the position of their buffer."""

_encode_portion = msgspec.msgpack.Encoder().encode
_decode_portion = msgspec.msgpack.Decoder(_Portion).decode


class PendingCheckpoint(WriteBarrier):
    """Hold what is to be written to a database before it is copied, and keep everything else from being written.

    Attributes:
        entries: How many entries are to be written.
        unproven: What has to be read back before the copy counts, by table; known once it is made.
    """

    def __init__(
        self, database: Database, directory: str, buffers: Sequence[WriteBuffer], tables: Sequence[StateTable]
    ) -> None:
        """Take over what is not written. Nothing else may run in the slot meanwhile.

        Args:
            database: The database.
            directory: Where the copy is to be: a directory that does not exist, on the same disk.
            buffers: The caches in front of the database, and timers.
            tables: The tables of the caches.
        """
        self._database = database
        self._directory = directory
        self._tables = tables
        self._frozen: list[tuple[WriteBuffer, dict[Any, Any]]] = []
        try:
            for buffer in buffers:
                self._frozen.append((buffer, buffer.freeze()))
            for table in tables:
                table.describe()
            # Has no name: nothing is left behind, however the slot ends.
            parent = os.path.dirname(directory)
            file = tempfile.TemporaryFile("w+b", _BUFFER, dir=parent)  # noqa: SIM115 - closed when it was read
            self._file = cast(BinaryIO, file)
            self._done_encoding, self._encoded = os.pipe()
        except BaseException:
            self._take_back()
            raise
        self.entries = sum(buffer.weight(cells) for buffer, cells in self._frozen)
        self.unproven: list[tuple[StateTable, list[Batch]]] = []
        self._lock = Lock()
        self._claimed = False
        self._over = Event()
        self._error: BaseException | None = None

    # --- in a forked copy of the process, or in the stop ---

    def encode(self) -> None:
        """Encode what is to be written."""
        file = self._file
        for index, (buffer, cells) in enumerate(self._frozen):
            changes = buffer.encoded(cells)
            while portion := list(islice(changes, _PORTION)):
                data = _encode_portion((index, portion))
                file.write(_LENGTH.pack(len(data)) + data)
        file.flush()
        os.write(self._encoded, _ENCODED)

    # --- in the background, or in the slot if it cannot go on without ---

    def make(self) -> None:
        """Write, and make the copy, once everything is encoded; :meth:`check` raises what goes wrong.

        If another thread is doing so, wait for it.
        """
        if not self._claim():
            self._over.wait()
            return
        try:
            os.close(self._encoded)  # so that the end of a forked copy that failed shows
            if os.read(self._done_encoding, 1) != _ENCODED:
                raise CheckpointError("the changes that a checkpoint of RocksDB waited for were not encoded")
            self._file.seek(0)
            for index, portions in groupby(_portions(self._file), itemgetter(0)):
                buffer = self._frozen[index][0]
                buffer.write_encoded(chain.from_iterable(portion for _, portion in portions))
            self._database.checkpoint(self._directory)
            self.unproven = [(table, table.unproven.take()) for table in self._tables if table.unproven is not None]
        except BaseException as error:
            self._error = error
        else:
            self._frozen = []
        finally:
            self._end()

    def check(self) -> None:
        """Raise what went wrong, after :meth:`make`."""
        if self._error is not None:
            raise self._error

    def give_up(self) -> None:
        """Make no copy, unless it is made already."""
        if not self._claim():
            self._over.wait()
            return
        os.close(self._encoded)
        self._error = CheckpointError("the checkpoint was abandoned before its copy of RocksDB was made")
        self._end()

    # --- in the slot ---

    @property
    def over(self) -> bool:
        return self._over.is_set()

    def wait(self) -> None:
        self.make()
        if self._error is not None:
            self._take_back()

    def _take_back(self) -> None:
        for buffer, cells in self._frozen:
            buffer.take_back(cells)
        self._frozen = []

    def _claim(self) -> bool:
        with self._lock:
            claimed, self._claimed = self._claimed, True
        return not claimed

    def _end(self) -> None:
        with suppress(OSError):
            self._file.close()
        os.close(self._done_encoding)
        self._over.set()


def _portions(file: BinaryIO) -> Iterator[_Portion]:
    while head := file.read(_LENGTH.size):
        yield _decode_portion(file.read(_LENGTH.unpack(head)[0]))

"""Reads files of text where there is no Spark to do so."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator

from rekindle.base.local_path import local_path
from rekindle.exceptions import InvalidProgramError
from rekindle.graph.transformations.sources import TextFiles

_LINES = 10_000  # in a batch


def found_files(files: TextFiles) -> list[str]:
    """Find the files.

    Raises:
        InvalidProgramError: There are none.
    """
    return [name for path in files.paths for name in _expanded(path)]


def line_batches(path: str, as_bytes: bool) -> Iterator[tuple[int, bytearray]]:
    """Read a file; return the frames of the task that does so.

    Args:
        path: The file.
        as_bytes: Whether lines are given as bytes, because they are not UTF-8.
    """
    import pyarrow as pa  # takes long to load, and most programs under test read no files

    from rekindle.runtime.exchange.arrow_batches import encode_batch

    kind = pa.binary() if as_bytes else pa.string()
    with open(path, "rb") as file:
        lines = file.read().replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    if not lines[-1]:
        lines.pop()
    values = lines if as_bytes else [line.decode("utf-8", "replace") for line in lines]
    for first in range(0, len(values), _LINES):
        batch = pa.RecordBatch.from_arrays([pa.array(values[first : first + _LINES], kind)], ["value"])
        yield 0, bytearray(encode_batch(batch))


def _expanded(path: str) -> list[str]:
    """Find all files of a path, a directory or a pattern, without those that Spark takes for hidden."""
    found: list[str] = []
    matches = sorted(glob.glob(local_path(path)))
    if not matches:
        raise InvalidProgramError(f"there is no file or directory {path!r} to read")
    for match in matches:
        if os.path.isfile(match):
            found.append(match)
        for directory, below, names in os.walk(match):
            below[:] = sorted(name for name in below if not name.startswith((".", "_")))
            found += [os.path.join(directory, name) for name in sorted(names) if not name.startswith((".", "_"))]
    return found

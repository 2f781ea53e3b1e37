"""The file sink keeps the promises of a sink, in all the schedules of ``check_sink``."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from rekindle.datastream.connectors.file_system import FileCompactor, FileCompactStrategy, FileSink
from rekindle.datastream.formats.parquet import parquet_writer
from rekindle.testing import check_sink

AT_ONCE = FileCompactStrategy.builder().set_size_threshold(1).build()


def lines(path: Path) -> FileSink:
    return FileSink.for_row_format(path).enable_compact(AT_ONCE, FileCompactor.concat_file_compactor()).build()


def columns(path: Path) -> FileSink:
    return FileSink.for_bulk_format(path, parquet_writer("value string")).build()


@pytest.mark.parametrize("make", [lines, columns])
@pytest.mark.parametrize("parallelism", [1, 3])
def test_a_file_sink_is_exactly_once(tmp_path: Path, make: Callable[[Path], FileSink], parallelism: int) -> None:
    out = tmp_path / "out"

    def read_output() -> list[Any]:
        found: list[Any] = []
        for path in sorted(out.glob("*part-*")):
            text = make is lines
            found += path.read_text().split() if text else parquet.read_table(path)["value"].to_pylist()
        return found

    check_sink(
        lambda: make(out), read_output, parallelism=parallelism, reset=lambda: shutil.rmtree(out, ignore_errors=True)
    )

"""Damage anywhere in a checkpoint is found when it is restored, and the file is named."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from rekindle.checkpoint.restoring import RestorePath
from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.exceptions import CheckpointCorruptError
from rekindle.runtime.slot.failure import OperatorError, describe_failure
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.rocksdb.settings import RocksDBSettings
from runtime.slot.test_incremental_snapshots import feed, remembering
from support.in_process_job import InProcessJob
from support.seeds import SEED

BACKENDS = {
    "heap": BackendSettings(),
    "heap, incremental": BackendSettings(incremental=True),
    "RocksDB": BackendSettings(RocksDBSettings()),
    "RocksDB, incremental": BackendSettings(RocksDBSettings(), incremental=True),
}
POSITIONS = 15


def restore(location: str, backend: BackendSettings) -> None:
    stored = RestorePath(location).current
    InProcessJob(remembering(), restore=stored, backend=backend).close()


def written(tmp_path: Path, backend: BackendSettings) -> str:
    with InProcessJob(remembering(), files=LocalCheckpointFiles(str(tmp_path)), backend=backend) as job:
        feed(job, *((f"k{i}", "set", f"{i:050}") for i in range(200)))
        job.checkpoint()
        feed(job, ("a", "set", 1), ("a", "add", 2), ("a", "put", ("x", 3)))
        stored = job.checkpoint()
        job.run_to_end()
    return str(tmp_path / stored.directory)


def error_of(location: str, backend: BackendSettings) -> CheckpointCorruptError:
    """Return what a restore raises, as the slot tells the job master."""
    with pytest.raises((CheckpointCorruptError, OperatorError)) as caught:
        restore(location, backend)
    error = caught.value
    if isinstance(error, OperatorError):
        assert describe_failure(error, 0).kind == "CheckpointCorruptError"
        error = error.__cause__  # type: ignore[assignment]
    assert isinstance(error, CheckpointCorruptError)
    return error


def files_of(tmp_path: Path, location: str) -> list[Path]:
    """Return the files that the checkpoint needs."""
    metadata = RestorePath(location).current.metadata
    needed = [f.path for handle in metadata.handles for f in handle.files() if f.path is not None]
    return [Path(location, "_metadata"), *(Path(location, path).resolve() for path in needed)]


@pytest.mark.parametrize("backend", BACKENDS.values(), ids=BACKENDS)
def test_a_flipped_byte_anywhere_is_found_and_the_file_named(tmp_path: Path, backend: BackendSettings) -> None:
    location = written(tmp_path, backend)
    rng = random.Random(SEED)
    files = files_of(tmp_path, location)
    assert len(files) > 1
    for file in files:
        good = file.read_bytes()
        ends = {0, 5, len(good) - 1, len(good) - 6}
        for position in sorted(ends | {rng.randrange(len(good)) for _ in range(POSITIONS)}):
            bad = bytearray(good)
            bad[position] ^= 1 << rng.randrange(8)
            file.write_bytes(bad)
            assert file.name in str(error_of(location, backend)), (file, position)
        file.write_bytes(good)
    restore(location, backend)


@pytest.mark.parametrize("backend", BACKENDS.values(), ids=BACKENDS)
def test_a_truncated_or_missing_file_is_found_and_named(tmp_path: Path, backend: BackendSettings) -> None:
    location = written(tmp_path, backend)
    for file in files_of(tmp_path, location):
        good = file.read_bytes()
        for length in {0, 1, len(good) // 2, len(good) - 1}:
            file.write_bytes(good[:length])
            assert file.name in str(error_of(location, backend)), (file, length)
        if file.name != "_metadata":  # without that there is no checkpoint
            file.unlink()
            assert file.name in str(error_of(location, backend))
        file.write_bytes(good)
    restore(location, backend)


def test_bytes_inside_the_metadata_are_under_its_checksum(tmp_path: Path) -> None:
    files: Any = LocalCheckpointFiles(str(tmp_path))
    with InProcessJob(remembering(), files=files, inline_below=1 << 20) as job:
        feed(job, ("a", "set", 1))
        location = str(tmp_path / job.checkpoint().directory)
    metadata = Path(location, "_metadata")
    bad = bytearray(metadata.read_bytes())
    bad[-20] ^= 1
    metadata.write_bytes(bad)
    assert "_metadata" in str(error_of(location, BackendSettings()))

"""Savepoints and checkpoints that older releases wrote. From here on every change of a format keeps reading these.

Each directory v… holds what the release with that format of snapshot files wrote, by ``make_savepoint.py``: a savepoint
and an incremental checkpoint of each backend, and what the states hold. They are restored by the program that wrote
them, as it was, and by one whose types have evolved, on each backend.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from compat_program import Program, contents, evolved_program, expected, program, start
from make_savepoint import HEAP, NAMES, ROCKSDB, shown

from rekindle.checkpoint.restoring import RestorePath
from rekindle.checkpoint.snapshot_file import VERSION
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.state.backend_settings import BackendSettings
from support.versioned_classes import Versions, versioned_classes

HERE = Path(__file__).parent
RELEASES = sorted(path for path in HERE.glob("v*") if path.is_dir())
STORED = [release / f"{name}-{kind}" for release in RELEASES for name in NAMES for kind in ("savepoint", "checkpoint")]


@pytest.fixture
def versions() -> Iterator[Versions]:
    with versioned_classes() as classes:
        yield classes


def opened(stored: Path, directory: Path) -> StoredCheckpoint:
    """Open a copy of what is stored: it may be moved, and must not be changed."""
    copy = shutil.copytree(stored, directory / "stored")
    return RestorePath(str(copy / "chk" if (copy / "chk").exists() else copy)).current


def found(made: Program, stored: Path, backend: BackendSettings, directory: Path) -> dict[str, Any]:
    with start(made, directory / "job", backend, opened(stored, directory)) as running:
        return contents(running, made)


@pytest.mark.parametrize("backend", [HEAP, ROCKSDB], ids=["into heap", "into RocksDB"])
@pytest.mark.parametrize("stored", STORED, ids=lambda path: f"{path.parent.name}-{path.name}")
class TestWhatAnOlderReleaseWrote:
    def test_is_restored_by_the_program_that_wrote_it(
        self, stored: Path, backend: BackendSettings, versions: Versions, tmp_path: Path
    ) -> None:
        made = program(versions)
        restored = found(made, stored, backend, tmp_path)
        assert restored == expected(made)
        golden = json.loads((stored.parent / "contents.json").read_text(encoding="utf-8"))
        assert shown(restored) == golden

    def test_is_restored_by_a_program_that_evolved(
        self, stored: Path, backend: BackendSettings, versions: Versions, tmp_path: Path
    ) -> None:
        made = evolved_program(versions)
        assert found(made, stored, backend, tmp_path) == expected(made)


def test_the_format_of_today_is_among_them() -> None:
    """Where this fails a format was changed: write its savepoints with make_savepoint.py, and keep the older ones."""
    assert f"v{VERSION}" in [release.name for release in RELEASES]


def test_checkpoints_build_on_others() -> None:
    """Otherwise they say no more than savepoints do."""
    for stored in STORED:
        if stored.name.endswith("checkpoint"):
            handles = RestorePath(str(stored / "chk")).current.metadata.handles
            assert any(handle.before or handle.native for handle in handles)

"""Writes the savepoints and checkpoints that ``test_old_savepoints.py`` reads, as the code of today writes them.

    python tests/compat/make_savepoint.py           # in the directory of the format of today, such as v3
    python tests/compat/make_savepoint.py v4        # in another

A directory that was released is never written again: make a new one when a format changes. What is written is the same
each time, but for the checkpoint of RocksDB, whose files carry the time and random identities.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from compat_program import contents, expected, program, put, start  # noqa: E402

from rekindle.checkpoint import paths  # noqa: E402
from rekindle.checkpoint.snapshot_file import VERSION  # noqa: E402
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint  # noqa: E402
from rekindle.state.backend_settings import BackendSettings  # noqa: E402
from rekindle.state.rocksdb.settings import RocksDBSettings  # noqa: E402
from support.versioned_classes import versioned_classes  # noqa: E402

HEAP = BackendSettings(incremental=True)
ROCKSDB = BackendSettings(RocksDBSettings(compression="none"), incremental=True)
NAMES = {"heap": HEAP, "rocksdb": ROCKSDB}


def write(target: Path) -> None:
    """Write everything into a directory: a savepoint and a checkpoint that builds on another, of each backend."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name, backend in NAMES.items():
        with tempfile.TemporaryDirectory() as scratch, versioned_classes() as versions:
            made = program(versions)
            with start(made, Path(scratch), backend) as running:
                put(running, made, 0)
                running.checkpoint()
                put(running, made, 1)
                checkpoint = running.checkpoint()
                savepoint = running.savepoint()
                found = contents(running, made)
                assert found == expected(made), "the program does not hold what it should: look at it first"
            handles = checkpoint.metadata.handles
            assert any(handle.before or handle.native for handle in handles), "the checkpoint builds on no other"
            _copy(savepoint, target / f"{name}-savepoint")
            _copy(checkpoint, target / f"{name}-checkpoint" / "chk")
            golden = json.dumps(shown(expected(made)), indent=1, ensure_ascii=False) + "\n"
    (target / "contents.json").write_text(golden, encoding="utf-8")


def _copy(stored: StoredCheckpoint, target: Path) -> None:
    """Copy the files of a checkpoint, and those it shares with others beside it."""
    assert stored.files is not None
    names = ["_metadata", *(str(file.path) for handle in stored.metadata.handles for file in handle.files())]
    for name in names:
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.resolve().write_bytes(stored.files.read(paths.resolve(stored.directory, name)))


def shown(value: Any) -> Any:
    """Return contents as JSON: what is no dict is shown as Python shows it."""
    return {key: shown(each) for key, each in value.items()} if type(value) is dict else repr(value)


def main() -> None:
    if os.environ.get("PYTHONHASHSEED") != "0":  # the order of sets is the order in which changes are written
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "PYTHONHASHSEED": "0"})
    name = sys.argv[1] if len(sys.argv) > 1 else f"v{VERSION}"
    write(HERE / name)
    files = [path for path in (HERE / name).rglob("*") if path.is_file()]
    print(f"{len(files)} files, {sum(path.stat().st_size for path in files):,} bytes in {HERE / name}")


if __name__ == "__main__":
    main()

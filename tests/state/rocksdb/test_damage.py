"""Damaged native snapshots are refused, wherever the damage is, and with an error of Rekindle's."""

import os
from pathlib import Path

import pytest

from rekindle.contracts.key_groups import KeyGroupRange
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.exceptions import CheckpointCorruptError
from rekindle.state.rocksdb import database
from rekindle.state.rocksdb.native import native_blocks
from rekindle.state.rocksdb.native_part import NativePart

from .conftest import ALL
from .test_snapshots import native_part, open_files_below


@pytest.fixture
def part(make_backend, tmp_path) -> NativePart:
    backend = make_backend()
    state = backend.get_or_create(ValueStateDescriptor("v"))
    for key in range(5_000):
        backend.key = key
        state.update(os.urandom(8))
    return native_part(backend, tmp_path / "part")


def the_file(part, start="", end=""):
    names = [name for name in os.listdir(part.directory) if name.startswith(start) and name.endswith(end)]
    return max((os.path.join(part.directory, name) for name in names), key=os.path.getsize)


def flip_middle(path):
    with open(path, "r+b") as file:
        file.seek(os.path.getsize(path) // 2)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 0xFF]))


def cut_in_half(path):
    os.truncate(path, os.path.getsize(path) // 2)


DAMAGES = {
    "a block of entries is damaged": lambda part: flip_middle(the_file(part, end=".sst")),
    "a file of entries is cut off": lambda part: cut_in_half(the_file(part, end=".sst")),
    "a file of entries is missing": lambda part: os.remove(the_file(part, end=".sst")),
    "the list of files is damaged": lambda part: flip_middle(the_file(part, "MANIFEST")),
    "the list of files is cut off": lambda part: cut_in_half(the_file(part, "MANIFEST")),
    "the list of files is empty": lambda part: os.truncate(the_file(part, "MANIFEST"), 0),
    "the list of files is missing": lambda part: os.remove(the_file(part, "MANIFEST")),
    "the first file is missing": lambda part: os.remove(the_file(part, "CURRENT")),
    "the first file is rubbish": lambda part: Path(the_file(part, "CURRENT")).write_text("rubbish"),
    "all files are missing": lambda part: [os.remove(the_file(part)) for _ in os.listdir(part.directory)],
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_reading_blocks_fails_rather_than_give_less(part, damage):
    damage(part)
    with pytest.raises(CheckpointCorruptError, match="cannot be read"):
        for _ in native_blocks(part.directory, ALL):
            pass


# Damage inside a file that is taken over whole shows when it is read; a download checks its sum before.
RESTORED = [
    pytest.param(damage, as_base, id=f"{name}, {'as the base' if as_base else 'besides the base'}")
    for name, damage in DAMAGES.items()
    for as_base in (True, False)
    if not (as_base and "block of entries" in name)
]


@pytest.mark.parametrize(("damage", "as_base"), RESTORED)
def test_restoring_fails_rather_than_give_less(make_backend, tmp_path, part, damage, as_base):
    other = native_part(make_backend(key_groups=KeyGroupRange(8, 15)), tmp_path / "other")
    damage(part)
    parts = [part] if as_base else [other, NativePart(part.directory, KeyGroupRange(0, 7))]
    with pytest.raises(CheckpointCorruptError, match=r"cannot be read"):
        make_backend(key_groups=ALL if as_base else KeyGroupRange(6, 15)).restore_native(parts)
    assert not open_files_below(tmp_path / "part")


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_nothing_stays_open(part, damage):
    damage(part)
    with pytest.raises(CheckpointCorruptError):
        list(native_blocks(part.directory, ALL))
    assert not open_files_below(part.directory)


def test_another_version_is_refused(make_backend, tmp_path, monkeypatch):
    monkeypatch.setattr(database, "VERSION", database.VERSION_WITH_TIMERS + 1)
    backend = make_backend()
    backend.key = 1
    backend.get_or_create(ValueStateDescriptor("v")).update(1)
    part = native_part(backend, tmp_path / "part")
    monkeypatch.undo()
    with pytest.raises(CheckpointCorruptError, match="unknown version"):
        list(native_blocks(part.directory, ALL))


def test_a_full_disk_is_no_damage():
    with pytest.raises(Exception, match="No space left") as caught, database.damage_reported("/somewhere"):
        raise Exception("IO error: No space left on device: While appending to file")
    assert type(caught.value) is Exception


def test_errors_of_others_are_left_alone():
    with pytest.raises(KeyError), database.damage_reported("/somewhere"):
        raise KeyError("x")

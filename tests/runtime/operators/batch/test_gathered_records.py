"""Gathered records come back key by key, in the order of time, whether or not they fit in memory."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

from rekindle.exceptions import SerializationError
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.batch.gathered import GatheredRecords
from rekindle.runtime.operators.batch.key_order import order_of_key
from support.seeds import SEED

MIN = -(1 << 63)


class Directories:
    def __init__(self, base: Path) -> None:
        self.base = base
        self.made: list[str] = []

    def __call__(self) -> str:
        path = str(self.base / f"{len(self.made)}")
        os.mkdir(path)
        self.made.append(path)
        return path


def given_back(gathered: GatheredRecords) -> list[tuple[Any, list[tuple[Any, int | None, int]]]]:
    result = []
    group: list[tuple[Any, int | None, int]] = []
    key: Any = None
    for batch in gathered.by_key():
        count = len(batch.values)
        stamps, sides = batch.timestamps or [None] * count, batch.sides or [0] * count
        for start, end in batch.groups():
            group += zip(batch.values[start:end], stamps[start:end], sides[start:end], strict=True)
            key = batch.keys[start] if start < end else key
            assert start == end or set(batch.keys[start:end]) == {key}
            if end in batch.ends:
                result.append((key, group))
                group = []
    assert group == []
    return result


def expected(records: list[tuple[Any, Any, int | None, int]]) -> list[tuple[Any, list[tuple[Any, int | None, int]]]]:
    groups: dict[Any, list[tuple[Any, int | None, int]]] = {}
    for key, value, timestamp, side in records:
        groups.setdefault(key, []).append((value, timestamp, side))
    for group in groups.values():
        group.sort(key=lambda record: (MIN if record[1] is None else record[1], record[2]))
    return [(key, groups[key]) for key in sorted(groups, key=order_of_key)]


@pytest.mark.parametrize("memory", [1_000_000, 700, 37, 3])
@pytest.mark.parametrize("two_inputs", [False, True])
@pytest.mark.parametrize("with_timestamps", ["all", "some", "none"])
@pytest.mark.parametrize("keys", [1, 5, 2_000])
def test_each_key_comes_once_with_all_its_records_in_order(
    tmp_path: Path, memory: int, two_inputs: bool, with_timestamps: str, keys: int
) -> None:
    rng = random.Random(f"{SEED} {memory} {two_inputs} {with_timestamps} {keys}")
    directories = Directories(tmp_path)
    gathered = GatheredRecords(memory, directories)
    records: list[tuple[Any, Any, int | None, int]] = []
    number = 0
    while len(records) < 2_000:
        side = rng.randrange(2) if two_inputs else 0
        size = rng.randrange(50)
        stamped = with_timestamps == "all" or (with_timestamps == "some" and rng.random() < 0.5)
        some: list[tuple[Any, Any, int | None, int]] = []
        for _ in range(size):
            number += 1
            key: Any = rng.randrange(keys)
            key = key if key % 2 else f"key-{key}"
            some.append((key, number, rng.randrange(20) if stamped else None, side))
        records += some
        stamps = [timestamp for _, _, timestamp, _ in some] if stamped else None
        gathered.add(Chunk([r[1] for r in some], stamps, [r[0] for r in some]), side)
    assert given_back(gathered) == expected(records)
    assert bool(directories.made) == (memory < len(records))
    gathered.close()
    assert not any(map(os.path.exists, directories.made))


def test_many_runs_are_merged_before_they_are_read(tmp_path: Path) -> None:
    directories = Directories(tmp_path)
    gathered = GatheredRecords(1, directories)
    for n in range(1_100):
        gathered.add(Chunk([n], [-n], [n % 3]))
    assert len(os.listdir(directories.made[0])) < 100
    assert given_back(gathered) == [
        (key, [(n, -n, 0) for n in reversed(range(1_100)) if n % 3 == key]) for key in range(3)
    ]


def test_records_of_one_key_come_in_parts(tmp_path: Path) -> None:
    for memory in (1_000_000, 30_000):
        gathered = GatheredRecords(memory, Directories(tmp_path))
        for start in range(0, 50_000, 1_000):
            gathered.add(Chunk(list(range(start, start + 1_000)), None, ["all"] * 1_000))
        batches = list(gathered.by_key())
        assert max(len(batch.values) for batch in batches) <= 12_000
        assert {key for batch in batches for key in batch.keys} == {"all"}
        assert [value for batch in batches for value in batch.values] == list(range(50_000))
        assert [batch.complete for batch in batches if batch.values] == [False] * (len(batches) - 1) + [True] or (
            batches[-1].ends == [0]
        )


def test_keys_that_are_equal_are_one_key_also_on_disk(tmp_path: Path) -> None:
    gathered = GatheredRecords(2, Directories(tmp_path))
    for key in (1, 2, 1.0, True, "1", (1, "a"), (1.0, "a"), None):
        gathered.add(Chunk([repr(key)], None, [key]))
    found = {key: [value for value, _, _ in records] for key, records in given_back(gathered)}
    assert found == {
        1: ["1", "1.0", "True"],
        2: ["2"],
        "1": ["'1'"],
        (1, "a"): ["(1, 'a')", "(1.0, 'a')"],
        None: ["None"],
    }


def test_records_that_cannot_be_written_to_disk_raise_and_say_what_to_do(tmp_path: Path) -> None:
    gathered = GatheredRecords(2, Directories(tmp_path))
    with pytest.raises(SerializationError, match=r"raise rekindle\.batch\.memory-records"):
        gathered.add(Chunk([lambda: 1, lambda: 2], None, [1, 2]))


# Recorded from PyFlink 2.3, where the keys had the type INT, STRING and TUPLE.
INTEGERS = [-70000, -300, -128, -1, -129, 128, 255, 0, 1, 2, 3, 10, 127, 256, 300, 100000, 65536, 70000]
STRINGS = ["a" * 130, "", "€", "é", "9", "B", "a", "b", "z", "日本", "10", "ab", "zz", "abb", "abc", "b" * 12, "a" * 24]
TUPLES = [(-1, "z"), (1, "a"), (1, "b"), (2, "a")]


@pytest.mark.parametrize("keys", [INTEGERS, STRINGS, TUPLES])
def test_keys_come_in_the_order_of_pyflink(keys: list[Any]) -> None:
    assert sorted(random.Random(SEED).sample(keys, len(keys)), key=order_of_key) == keys

"""The rules of SlotSharingGroup and MemorySize."""

from __future__ import annotations

import pytest

from rekindle.datastream.slot_sharing_group import MemorySize, SlotSharingGroup
from rekindle.exceptions import ConfigurationError


def test_memory_size_reads_in_larger_units_rounded_down() -> None:
    size = MemorySize(bytes_size=5 * 1024**4 + 1023)
    assert size.get_bytes() == 5 * 1024**4 + 1023
    assert size.get_kibi_bytes() == 5 * 1024**3
    assert size.get_mebi_bytes() == 5 * 1024**2
    assert size.get_gibi_bytes() == 5 * 1024
    assert size.get_tebi_bytes() == 5


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1024, "1 kb"), (1536, "1536 bytes"), (3 * 1024**3, "3 gb")],
)
def test_memory_size_prints_in_the_largest_whole_unit(size: int, text: str) -> None:
    assert str(MemorySize(size)) == text


def test_memory_sizes_compare_by_their_bytes() -> None:
    assert MemorySize.of_mebi_bytes(1) == MemorySize(1 << 20)
    assert hash(MemorySize.of_mebi_bytes(1)) == hash(MemorySize(1 << 20))
    assert MemorySize(1) < MemorySize(2) <= MemorySize(2)
    assert MemorySize(1) != 1
    with pytest.raises(TypeError):
        _ = MemorySize(1) < 2  # type: ignore[operator]


def test_negative_memory_size_raises() -> None:
    with pytest.raises(ConfigurationError, match="-1"):
        MemorySize(-1)


def test_group_without_resources_leaves_them_open() -> None:
    group = SlotSharingGroup.builder("group").build()
    assert group.get_name() == "group"
    assert group.get_cpu_cores() is None
    assert group.get_task_heap_memory() is None
    assert group.get_task_off_heap_memory() is None
    assert group.get_managed_memory() is None
    assert group.get_external_resources() == {}


def test_group_with_cores_and_heap_has_zero_of_the_rest() -> None:
    group = SlotSharingGroup.builder("group").set_cpu_cores(1).set_task_heap_memory_mb(100).build()
    assert group.get_cpu_cores() == 1.0
    assert group.get_task_heap_memory() == MemorySize.of_mebi_bytes(100)
    assert group.get_task_off_heap_memory() == MemorySize(0)
    assert group.get_managed_memory() == MemorySize(0)


def test_group_keeps_all_it_was_given() -> None:
    group = (
        SlotSharingGroup.builder("group")
        .set_cpu_cores(0.5)
        .set_task_heap_memory(MemorySize(7))
        .set_task_off_heap_memory_mb(2)
        .set_managed_memory_mb(3)
        .set_external_resource("gpu", 1)
        .set_external_resource("gpu", 2)
        .build()
    )
    assert group.get_task_heap_memory() == MemorySize(7)
    assert group.get_task_off_heap_memory() == MemorySize.of_mebi_bytes(2)
    assert group.get_managed_memory() == MemorySize.of_mebi_bytes(3)
    assert group.get_external_resources() == {"gpu": 2.0}


def test_groups_are_equal_by_name_and_resources() -> None:
    def group(name: str, cores: float) -> SlotSharingGroup:
        return SlotSharingGroup.builder(name).set_cpu_cores(cores).set_task_heap_memory_mb(1).build()

    assert group("a", 1) == group("a", 1)
    assert hash(group("a", 1)) == hash(group("a", 1))
    assert group("a", 1) != group("a", 2)
    assert group("a", 1) != group("b", 1)


@pytest.mark.parametrize("method", ["set_managed_memory_mb", "set_task_heap_memory_mb", "set_cpu_cores"])
def test_resources_without_both_cores_and_heap_raise(method: str) -> None:
    builder = SlotSharingGroup.builder("group")
    getattr(builder, method)(10)
    with pytest.raises(ConfigurationError, match="cpu_cores and task_heap_memory"):
        builder.build()


def test_resources_of_zero_raise() -> None:
    with pytest.raises(ConfigurationError, match="cpu_cores"):
        SlotSharingGroup.builder("group").set_cpu_cores(0)
    with pytest.raises(ConfigurationError, match="task_heap_memory"):
        SlotSharingGroup.builder("group").set_task_heap_memory_mb(0)

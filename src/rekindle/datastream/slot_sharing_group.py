"""Slot sharing groups and the resources they ask for.

In Rekindle all operators with the same subtask index share one slot, so a group's resources are remembered
and can be read back, and do not move operators between slots.
"""

from __future__ import annotations

from functools import total_ordering

from rekindle.exceptions import ConfigurationError

__all__ = ["MemorySize", "SlotSharingGroup"]

_UNITS = ((1 << 40, "tb"), (1 << 30, "gb"), (1 << 20, "mb"), (1 << 10, "kb"))


@total_ordering
class MemorySize:
    """Hold a number of bytes, readable in larger units (rounded down)."""

    def __init__(self, bytes_size: int) -> None:
        if bytes_size < 0:
            raise ConfigurationError(f"bytes_size must be zero or larger, got {bytes_size!r}")
        self._bytes = bytes_size

    @staticmethod
    def of_mebi_bytes(mebi_bytes: int) -> MemorySize:
        """Return the size of this many mebibytes."""
        return MemorySize(mebi_bytes << 20)

    def get_bytes(self) -> int:
        """Return the size in bytes."""
        return self._bytes

    def get_kibi_bytes(self) -> int:
        """Return the size in kibibytes (1024 bytes)."""
        return self._bytes >> 10

    def get_mebi_bytes(self) -> int:
        """Return the size in mebibytes (1024 kibibytes)."""
        return self._bytes >> 20

    def get_gibi_bytes(self) -> int:
        """Return the size in gibibytes (1024 mebibytes)."""
        return self._bytes >> 30

    def get_tebi_bytes(self) -> int:
        """Return the size in tebibytes (1024 gibibytes)."""
        return self._bytes >> 40

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MemorySize):
            return NotImplemented
        return self._bytes == other._bytes

    def __lt__(self, other: MemorySize) -> bool:
        if not isinstance(other, MemorySize):
            return NotImplemented
        return self._bytes < other._bytes

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __str__(self) -> str:
        for factor, unit in _UNITS:
            if self._bytes and self._bytes % factor == 0:
                return f"{self._bytes // factor} {unit}"
        return f"{self._bytes} bytes"

    def __repr__(self) -> str:
        return f"MemorySize(bytes_size={self._bytes})"


class SlotSharingGroup:
    """Name a group of operators that share slots, and the resources of such a slot.

    Build one with ``SlotSharingGroup.builder(name)``: with CPU cores and task heap memory, or with no
    resources at all.
    """

    def __init__(
        self,
        name: str,
        cpu_cores: float | None = None,
        task_heap_memory: MemorySize | None = None,
        task_off_heap_memory: MemorySize | None = None,
        managed_memory: MemorySize | None = None,
        external_resources: dict[str, float] | None = None,
    ) -> None:
        self._name = name
        self._cpu_cores = cpu_cores
        self._task_heap_memory = task_heap_memory
        self._task_off_heap_memory = task_off_heap_memory
        self._managed_memory = managed_memory
        self._external_resources = dict(external_resources or {})

    @staticmethod
    def builder(name: str) -> SlotSharingGroup.Builder:
        """Return a builder for the group ``name``."""
        return SlotSharingGroup.Builder(name)

    def get_name(self) -> str:
        """Return the group's name."""
        return self._name

    def get_cpu_cores(self) -> float | None:
        """Return the CPU cores of a slot, None if unspecified."""
        return self._cpu_cores

    def get_task_heap_memory(self) -> MemorySize | None:
        """Return the task heap memory of a slot, None if unspecified."""
        return self._task_heap_memory

    def get_task_off_heap_memory(self) -> MemorySize | None:
        """Return the task off-heap memory of a slot, None if unspecified."""
        return self._task_off_heap_memory

    def get_managed_memory(self) -> MemorySize | None:
        """Return the managed memory of a slot, None if unspecified."""
        return self._managed_memory

    def get_external_resources(self) -> dict[str, float]:
        """Return the other resources of a slot by name, such as GPUs."""
        return dict(self._external_resources)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SlotSharingGroup):
            return NotImplemented
        return vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self._name, self._cpu_cores, self._task_heap_memory))

    def __repr__(self) -> str:
        return f"SlotSharingGroup({self._name!r})"

    class Builder:
        """Build a ``SlotSharingGroup`` step by step; every method but ``build`` returns the builder."""

        def __init__(self, name: str) -> None:
            self._name = name
            self._cpu_cores: float | None = None
            self._task_heap_memory: MemorySize | None = None
            self._task_off_heap_memory: MemorySize | None = None
            self._managed_memory: MemorySize | None = None
            self._external_resources: dict[str, float] = {}

        def set_cpu_cores(self, cpu_cores: float) -> SlotSharingGroup.Builder:
            """Set the CPU cores of a slot; more than 0."""
            if cpu_cores <= 0:
                raise ConfigurationError(f"cpu_cores must be greater than zero, got {cpu_cores!r}")
            self._cpu_cores = float(cpu_cores)
            return self

        def set_task_heap_memory(self, task_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Set the task heap memory of a slot; more than 0."""
            if task_heap_memory.get_bytes() == 0:
                raise ConfigurationError("task_heap_memory must be greater than zero")
            self._task_heap_memory = task_heap_memory
            return self

        def set_task_heap_memory_mb(self, task_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            """Set the task heap memory of a slot in mebibytes; more than 0."""
            return self.set_task_heap_memory(MemorySize.of_mebi_bytes(task_heap_memory_mb))

        def set_task_off_heap_memory(self, task_off_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Set the task off-heap memory of a slot."""
            self._task_off_heap_memory = task_off_heap_memory
            return self

        def set_task_off_heap_memory_mb(self, task_off_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            """Set the task off-heap memory of a slot in mebibytes."""
            return self.set_task_off_heap_memory(MemorySize.of_mebi_bytes(task_off_heap_memory_mb))

        def set_managed_memory(self, managed_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Set the managed memory of a slot."""
            self._managed_memory = managed_memory
            return self

        def set_managed_memory_mb(self, managed_memory_mb: int) -> SlotSharingGroup.Builder:
            """Set the managed memory of a slot in mebibytes."""
            return self.set_managed_memory(MemorySize.of_mebi_bytes(managed_memory_mb))

        def set_external_resource(self, name: str, value: float) -> SlotSharingGroup.Builder:
            """Set how much of another resource a slot has, in place of what was set before."""
            self._external_resources[name] = float(value)
            return self

        def build(self) -> SlotSharingGroup:
            """Return the group; raises if resources were given without CPU cores and task heap memory."""
            if self._cpu_cores is not None and self._task_heap_memory is not None:
                return SlotSharingGroup(
                    self._name,
                    self._cpu_cores,
                    self._task_heap_memory,
                    self._task_off_heap_memory or MemorySize(0),
                    self._managed_memory or MemorySize(0),
                    self._external_resources,
                )
            given = (
                self._cpu_cores,
                self._task_heap_memory,
                self._task_off_heap_memory,
                self._managed_memory,
            )
            if any(resource is not None for resource in given) or self._external_resources:
                raise ConfigurationError(
                    f"slot sharing group {self._name!r}: specify both cpu_cores and task_heap_memory, "
                    "or no resources at all"
                )
            return SlotSharingGroup(self._name)

"""Settings of an environment that change nothing on Spark, or next to nothing: remembered, and given back."""

from __future__ import annotations

import os
from typing import ClassVar, Self

from rekindle.checkpoint.settings.checkpoint_config import CheckpointConfig
from rekindle.config.configuration import Configuration
from rekindle.config.execution_config import ExecutionConfig
from rekindle.config.options import AcceptedOptions
from rekindle.datastream.operator_settings import checked_buffer_timeout
from rekindle.datastream.slot_sharing_group import SlotSharingGroup
from rekindle.datastream.time_characteristic import TimeCharacteristic
from rekindle.exceptions import ConfigurationError

_WATERMARK_INTERVAL_MILLIS = 200


class EnvironmentSettings:
    """Hold what programs set and Spark, or the way Rekindle works, decides."""

    _configuration: Configuration
    _config: ExecutionConfig
    _checkpoint_config: CheckpointConfig

    _default_local_parallelism: ClassVar[int | None] = None

    _buffer_timeout: int | None = None
    _changelog: bool | None = None
    _time_characteristic = TimeCharacteristic.EventTime

    # --- buffers, chains, slots ---

    def set_buffer_timeout(self, timeout_millis: int) -> Self:
        """Accept how long records may wait for others before they are sent on; epochs decide that."""
        self._buffer_timeout = checked_buffer_timeout(timeout_millis)
        return self

    def get_buffer_timeout(self) -> int:
        """Return the buffer timeout in milliseconds."""
        if self._buffer_timeout is not None:
            return self._buffer_timeout
        return self._configuration.get(AcceptedOptions.BUFFER_TIMEOUT)

    def disable_operator_chaining(self) -> Self:
        """Accept that no operators are to be chained; it changes nothing that a program computes."""
        self._configuration.set(AcceptedOptions.OPERATOR_CHAINING, False)
        return self

    def is_chaining_enabled(self) -> bool:
        """Return whether operators may be chained."""
        return self._configuration.get(AcceptedOptions.OPERATOR_CHAINING)

    def is_chaining_of_operators_with_different_max_parallelism_enabled(self) -> bool:
        """Return whether operators of different maximum parallelism may be chained."""
        return self._configuration.get(AcceptedOptions.OPERATOR_CHAINING_DIFFERENT_MAX_PARALLELISM)

    def register_slot_sharing_group(self, slot_sharing_group: SlotSharingGroup) -> Self:
        """Accept the resources of a group; all operators with one subtask index share a slot, and Spark places it."""
        if not isinstance(slot_sharing_group, SlotSharingGroup):
            raise TypeError(
                f"register_slot_sharing_group takes a SlotSharingGroup, and was given {slot_sharing_group!r}"
            )
        return self

    # --- parallelism on this machine ---

    def get_default_local_parallelism(self) -> int:
        """Return the parallelism of environments for which nothing else says one: by default the number of cores."""
        return EnvironmentSettings._default_local_parallelism or os.cpu_count() or 1

    def set_default_local_parallelism(self, parallelism: int) -> None:
        """Set the parallelism of all environments of this process for which nothing else says one."""
        if parallelism < 1:
            raise ConfigurationError(f"The default local parallelism must be at least 1, got {parallelism}.")
        EnvironmentSettings._default_local_parallelism = parallelism

    # --- checkpoints ---

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Return whether unaligned checkpoints were asked for."""
        return self._checkpoint_config.is_unaligned_checkpoints_enabled()

    def is_force_unaligned_checkpoints(self) -> bool:
        """Return whether unaligned checkpoints were asked for at any price."""
        return self._checkpoint_config.is_force_unaligned_checkpoints()

    def enable_changelog_state_backend(self, enabled: bool) -> Self:
        """Accept whether changes of state are to be logged between checkpoints; incremental checkpoints serve that."""
        self._changelog = enabled
        return self

    def is_changelog_state_backend_enabled(self) -> bool | None:
        """Return what was set; None if nothing was."""
        return self._changelog

    # --- Java's serializers ---

    def register_type(self, type_class_name: str) -> None:
        """Accept the name of a Java class; records are Python objects."""
        self._config.register_pojo_type(type_class_name)

    def register_type_with_kryo_serializer(self, type_class_name: str, serializer_class_name: str) -> None:
        """Accept the name of a Kryo serializer; records are Python objects."""
        self._config.register_type_with_kryo_serializer(type_class_name, serializer_class_name)

    def add_default_kryo_serializer(self, type_class_name: str, serializer_class_name: str) -> None:
        """Accept the name of a Kryo serializer; records are Python objects."""
        self._config.add_default_kryo_serializer(type_class_name, serializer_class_name)

    # --- time ---

    def set_stream_time_characteristic(self, characteristic: TimeCharacteristic) -> None:
        """Accept the time that the program goes by; timers and windows say themselves which is theirs."""
        if not isinstance(characteristic, TimeCharacteristic):
            raise TypeError(f"a time characteristic is given as TimeCharacteristic, got {characteristic!r}")
        self._time_characteristic = characteristic
        in_processing_time = characteristic is TimeCharacteristic.ProcessingTime
        self._config.set_auto_watermark_interval(0 if in_processing_time else _WATERMARK_INTERVAL_MILLIS)

    def get_stream_time_characteristic(self) -> TimeCharacteristic:
        """Return what was set; EventTime if nothing was."""
        return self._time_characteristic

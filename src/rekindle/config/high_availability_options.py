"""Configuration options of high availability: how a job outlives its driver."""

from __future__ import annotations

from rekindle.config.config_options import ConfigOptions

__all__ = ["HighAvailabilityOptions"]

_key = ConfigOptions.key


class HighAvailabilityOptions:
    """List the options of high availability."""

    HA_MODE = (
        _key("high-availability.type")
        .enum_type(("NONE", "filesystem"))
        .default_value("NONE")
        .with_fallback_keys("high-availability")
        .with_description("Whether a driver that is started again takes over the job where the last one left it.")
    )
    HA_STORAGE_PATH = (
        _key("high-availability.storageDir")
        .string_type()
        .no_default_value()
        .with_description("Where drivers note who owns a job, and its completed checkpoints.")
    )
    HA_CLUSTER_ID = (
        _key("high-availability.cluster-id")
        .string_type()
        .default_value("default")
        .with_description("Keeps jobs of the same name apart; a driver takes over only within its own.")
    )

"""Configuration options of crash records."""

from __future__ import annotations

from rekindle.config.config_options import ConfigOptions

__all__ = ["CrashRecordOptions"]

_key = ConfigOptions.key


class CrashRecordOptions:
    """List the options of crash records, all of them Rekindle's own."""

    ENABLED = (
        _key("rekindle.crash-records.enabled")
        .boolean_type()
        .default_value(True)
        .with_description(
            "Whether the record at which a user's function raises is written to the checkpoint directory, with the "
            "state of its key. Not with rekindle.errors.show-records: false."
        )
    )
    MAX_NUMBER = (
        _key("rekindle.crash-records.max-number")
        .int_type(minimum=1)
        .default_value(10)
        .with_description("How many crash records of a job are kept; older ones are deleted.")
    )
    MAX_SIZE = (
        _key("rekindle.crash-records.max-size")
        .memory_type()
        .default_value("4 mb")
        .with_description("How large a crash record may be. What does not fit is left out of it.")
    )
    COPY_STATE = (
        _key("rekindle.crash-records.copy-state")
        .enum_type(("after-failure", "always", "never"))
        .default_value("after-failure")
        .with_description(
            "When the state of a key is copied before its records are processed: after a failure at that key, for "
            "every record, which is slow, or never."
        )
    )

"""Configuration options of the log."""

from __future__ import annotations

from rekindle.config.config_options import ConfigOptions

__all__ = ["LogOptions"]

_key = ConfigOptions.key


class LogOptions:
    """List the options of the log, all of them Rekindle's own."""

    FORMAT = (
        _key("rekindle.log.format")
        .enum_type(("text", "json"))
        .default_value("text")
        .with_description("The form of the log lines that Rekindle writes itself: text, or one JSON object per line.")
    )
    LEVEL = (
        _key("rekindle.log.level")
        .enum_type(("DEBUG", "INFO", "WARNING", "ERROR"))
        .no_default_value()
        .with_description("The level of the logger 'rekindle'; unset: INFO, unless the program configures logging.")
    )
    MAX_SIZE = (
        _key("rekindle.log.max-size")
        .memory_type()
        .default_value("10 mb")
        .with_description(
            "How large a log file of a detached program may get before a new one is started; 0: no limit."
        )
    )
    MAX_FILES = (
        _key("rekindle.log.max-files")
        .int_type(minimum=1)
        .default_value(5)
        .with_description("How many log files of a detached program are kept, including the current one.")
    )

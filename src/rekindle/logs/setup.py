"""Who shows Rekindle's log records: the application's handlers where it has any, else one of Rekindle's own.

A library must neither write lines a second time nor stand in the way of ``logging.basicConfig``. So Rekindle's handler
is there only as long as neither the root logger nor ``rekindle`` has another, and looks at each record whether that is
still so.
"""

from __future__ import annotations

import logging
import sys
import threading
from dataclasses import dataclass

from rekindle.config.configuration import Configuration
from rekindle.config.log_options import LogOptions
from rekindle.logs.events import SHOWN
from rekindle.logs.formats import JsonFormat, TextFormat
from rekindle.logs.standard_streams import write_output

_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class LogSettings:
    """Say how records are shown.

    Attributes:
        json: Whether lines are JSON.
        level: The lowest level that is logged; None: that of the application, or INFO if it does not configure logging.
    """

    json: bool = False
    level: str | None = None

    @staticmethod
    def of(configuration: Configuration) -> LogSettings:
        """Read the settings."""
        return LogSettings(configuration.get(LogOptions.FORMAT) == "json", configuration.get(LogOptions.LEVEL))


class OwnHandler(logging.Handler):
    """Write records to standard error, whatever that is at the moment, unless somebody else shows them."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        if getattr(record, SHOWN, False) or configured_elsewhere():
            return
        try:
            line = self.format(record)
        except Exception:
            self.handleError(record)
            return
        write_output(sys.stderr, line + "\n")


_own = OwnHandler()


def configured_elsewhere() -> bool:
    """Return whether the application has handlers that get Rekindle's records."""
    return bool(application_handlers())


def application_handlers() -> list[logging.Handler]:
    """List the handlers that are not Rekindle's, and get its records."""
    logger = logging.getLogger("rekindle")
    handlers = [*logger.handlers, *(logging.getLogger().handlers if logger.propagate else ())]
    return [handler for handler in handlers if handler is not _own and not isinstance(handler, logging.NullHandler)]


def logs_to_a_terminal() -> bool:
    """Return whether the application logs to a terminal: lines of a view would stand there twice."""
    streams = [handler.stream for handler in application_handlers() if isinstance(handler, logging.StreamHandler)]
    return any(isatty() for stream in streams if (isatty := getattr(stream, "isatty", None)) is not None)


def set_up_logging(settings: LogSettings) -> None:
    """See to it that somebody shows Rekindle's records; what holds is what was set last."""
    logger = logging.getLogger("rekindle")
    with _lock:
        was_own = _own in logger.handlers
        if configured_elsewhere():
            logger.removeHandler(_own)
        else:
            _own.setFormatter(JsonFormat() if settings.json else TextFormat())
            logger.addHandler(_own)
        if settings.level is not None:
            logger.setLevel(settings.level)
        elif _own in logger.handlers:
            logger.setLevel(logging.INFO)
        elif was_own:
            logger.setLevel(logging.NOTSET)  # the application has configured logging since, and decides

"""The two forms of a log line: text for people, and JSON for programs. Times are ISO 8601, with the offset from UTC."""

from __future__ import annotations

import json
import logging
from datetime import datetime

from rekindle.base.printable import printable
from rekindle.logs.events import SHOWN

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", SHOWN}


def iso_time(seconds: float) -> str:
    """Write a time since 1970 as local time, to the millisecond."""
    return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="milliseconds")


class TextFormat(logging.Formatter):
    """Write time, level and text; of a record that is not about a job, also the logger."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record."""
        source = "" if hasattr(record, "job_name") else f"{record.name}: "
        text = printable(super().format(record))  # the message, and the traceback if there is one
        return f"{iso_time(record.created)} {record.levelname:<7} {source}{text}"


class JsonFormat(logging.Formatter):
    """Write one JSON object on one line: time, level, logger, message, and all fields that the record has besides."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record."""
        document = {
            "time": iso_time(record.created),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **{name: value for name, value in vars(record).items() if name not in _STANDARD},
        }
        if record.exc_info:
            document["exception"] = self.formatException(record.exc_info)
        return json.dumps(document, default=str)

"""In which directory below the base path a file sink puts a record."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import datetime
from typing import Any, final

from rekindle.connectors.files.java_date_pattern import JavaDatePattern, time_zone

__all__ = ["BucketAssigner"]


class BucketAssigner(ABC):
    """Choose the bucket of each record: a directory below the base path of a file sink.

    Spark takes a directory ``name=value`` for a column. Of other names it reads what is below with the option
    ``recursiveFileLookup``, and without it nothing at all. Use one of the two that are here, or derive a class of
    your own::

        class ByCountry(BucketAssigner):
            def get_bucket_id(self, value, timestamp_or_now):
                return f"country={value.country}"
    """

    @abstractmethod
    def get_bucket_id(self, value: Any, timestamp_or_now: int) -> str:
        """Name the bucket of a record.

        Args:
            value: The record.
            timestamp_or_now: The record's timestamp if it has one, else the current processing time; in
                milliseconds since the epoch.

        Returns:
            A path relative to the base path, without ``..``; empty for the base path itself.
        """

    def _bucket_of_all(self, now: int) -> str | None:
        """Name the one bucket of all records that arrive now; None where each record has its own."""
        return None

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner:
        """Put all files directly into the base path; so it is by default."""
        return _BasePathBucketAssigner()

    @staticmethod
    def date_time_bucket_assigner(format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None) -> BucketAssigner:
        """Put records into directories named after the processing time at which they arrive.

        Args:
            format_str: The directory's name in the pattern letters of Java's ``DateTimeFormatter``; the
                default makes one directory an hour. Slashes make nested directories, and ``'day='yyyy-MM-dd`` those
                that Spark reads as a column ``day``.
            timezone_id: The time zone, such as ``"Europe/Berlin"``, ``"GMT-08:00"`` or ``"PST"``; None for
                that of the machine that writes.

        Raises:
            ConfigurationError: The pattern has an unsupported letter, or there is no such time zone.
        """
        return _DateTimeBucketAssigner(format_str, timezone_id)


@final
class _BasePathBucketAssigner(BucketAssigner):
    def get_bucket_id(self, value: Any, timestamp_or_now: int) -> str:
        return ""

    def _bucket_of_all(self, now: int) -> str:
        return ""


@final
class _DateTimeBucketAssigner(BucketAssigner):
    def __init__(self, format_str: str, timezone_id: str | None) -> None:
        self._pattern = JavaDatePattern(format_str)
        self._zone = time_zone(timezone_id)

    def get_bucket_id(self, value: Any, timestamp_or_now: int) -> str:
        return self._bucket_of_all(timestamp_or_now)

    def _bucket_of_all(self, now: int) -> str:
        seconds, millis = divmod(now, 1000)
        moment = datetime.fromtimestamp(seconds, self._zone).replace(microsecond=millis * 1000)
        return self._pattern.format(moment if self._zone else moment.astimezone())

"""Instants, dates, times and timestamps of Flink: exact to their last digit, and without a time zone."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from rekindle.common.time import Instant
from rekindle.common.typeinfo import Types
from rekindle.exceptions import SerializationError
from rekindle.serialization.serializer_of import serializer_of
from rekindle.types.time_typeinfo import LocalTimeTypeInfo
from rekindle.types.type_information import TypeInformation
from support.serializer_catalogue import same

OSLO = dt.timezone(dt.timedelta(hours=2))
LocalTime = LocalTimeTypeInfo.TimeType
LOCAL_DATE, LOCAL_TIME, LOCAL_DATE_TIME = map(LocalTimeTypeInfo, LocalTime)


class Stamp(dt.datetime):
    """Be a datetime of another class."""


def _through(type_info: TypeInformation, value: Any) -> Any:
    serializer = serializer_of(type_info)
    result = serializer.from_bytes(serializer.to_bytes(value))
    assert same(serializer.all_from_bytes(serializer.all_to_bytes([value, None])), [result, None])
    assert same(serializer.all_from_bytes(serializer.all_to_bytes([value, value])), [result, result])
    return result


def test_instants_keep_their_nanoseconds() -> None:
    for instant in (Instant(1, 123_456_789), Instant.of_epoch_milli(-5), Instant(-(2**63), 0)):
        assert _through(Types.INSTANT(), instant) == instant


def test_timestamps_keep_their_microseconds_also_before_the_epoch() -> None:
    for stamp in (dt.datetime(2020, 1, 2, 3, 4, 5, 678_901), dt.datetime(1900, 1, 1, 1, 1, 1, 5), dt.datetime.min):
        assert same(_through(Types.SQL_TIMESTAMP(), stamp), stamp)
        assert same(_through(LOCAL_DATE_TIME, stamp), stamp)


def test_times_keep_their_microseconds() -> None:
    assert _through(Types.SQL_TIME(), dt.time(1, 2, 3, 456_789)) == dt.time(1, 2, 3, 456_789)


def test_a_time_zone_is_dropped_and_the_clock_kept() -> None:
    stamp = dt.datetime(2020, 1, 2, 3, 4, 5, 6, tzinfo=OSLO)
    assert same(_through(Types.SQL_TIMESTAMP(), stamp), dt.datetime(2020, 1, 2, 3, 4, 5, 6))
    assert same(_through(LOCAL_DATE_TIME, stamp), dt.datetime(2020, 1, 2, 3, 4, 5, 6))
    assert same(_through(Types.SQL_TIME(), dt.time(3, 4, tzinfo=OSLO)), dt.time(3, 4))
    assert same(_through(LOCAL_TIME, dt.time(3, 4, tzinfo=OSLO)), dt.time(3, 4))


def test_values_of_other_classes_become_those_of_the_type() -> None:
    assert same(_through(Types.SQL_DATE(), dt.datetime(2020, 1, 2, 3, 4)), dt.date(2020, 1, 2))
    assert same(_through(LOCAL_DATE, dt.datetime(2020, 1, 2, 3, 4)), dt.date(2020, 1, 2))
    assert same(_through(Types.SQL_TIMESTAMP(), Stamp(2020, 1, 2)), dt.datetime(2020, 1, 2))


@pytest.mark.parametrize(
    ("type_info", "given"),
    [
        (Types.INSTANT(), 5),
        (Types.INSTANT(), dt.datetime(2020, 1, 1)),
        (Types.INSTANT(), Instant(2**63, 0)),
        (Types.SQL_DATE(), "2020-01-01"),
        (Types.SQL_DATE(), 5),
        (Types.SQL_DATE(), dt.time(1)),
        (Types.SQL_TIME(), "12:00:00"),
        (Types.SQL_TIME(), dt.datetime(2020, 1, 1)),
        (Types.SQL_TIMESTAMP(), dt.date(2020, 1, 1)),
        (Types.SQL_TIMESTAMP(), "2020-01-01T00:00:00"),
        (LOCAL_DATE, 1),
        (LOCAL_TIME, 1),
        (LOCAL_DATE_TIME, 1),
    ],
    ids=str,
)
def test_what_is_no_time_of_the_kind_is_refused(type_info: TypeInformation, given: Any) -> None:
    serializer = serializer_of(type_info)
    name = serializer.snapshot_configuration().describe()
    for refused in (lambda: serializer.to_bytes(given), lambda: serializer.all_to_bytes([None, given])):
        with pytest.raises(SerializationError, match=name):
            refused()


def test_local_and_sql_types_are_different_types() -> None:
    sql, local = serializer_of(Types.SQL_DATE()), serializer_of(LOCAL_DATE)
    result = local.snapshot_configuration().resolve_schema_compatibility(sql.snapshot_configuration())
    assert result.reasons == ("the type was SQL_DATE and is LOCAL_DATE now",)

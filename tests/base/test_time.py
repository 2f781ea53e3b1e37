from __future__ import annotations

import pickle
from datetime import timedelta

import pytest

from rekindle.common import Duration, Instant, Time
from rekindle.common.time import duration_to_millis


@pytest.mark.parametrize(
    ("duration", "millis", "text"),
    [
        (Duration.of_days(1), 86_400_000, "PT24H"),
        (Duration.of_hours(61), 219_600_000, "PT61H"),
        (Duration.of_minutes(61), 3_660_000, "PT1H1M"),
        (Duration.of_seconds(90061), 90_061_000, "PT25H1M1S"),
        (Duration.of_millis(1500), 1500, "PT1.5S"),
        (Duration.of_millis(90061), 90061, "PT1M30.061S"),
        (Duration.of_nanos(1500), 0, "PT0.0000015S"),
        (Duration.of_millis(-90061), -90061, "PT-1M-30.061S"),
        (Duration.of_nanos(-1), 0, "PT-0.000000001S"),
        (Duration.of_millis(0), 0, "PT0S"),
    ],
)
def test_a_duration_counts_and_reads_as_javas(duration: Duration, millis: int, text: str) -> None:
    assert duration.to_millis() == millis
    assert str(duration) == text


def test_durations_of_equal_length_are_equal_however_they_were_made() -> None:
    assert Duration.of_seconds(60) == Duration.of_minutes(1)
    assert hash(Duration.of_seconds(60)) == hash(Duration.of_minutes(1))
    assert Duration.of_seconds(1) != Duration.of_seconds(2)
    assert Duration.of_seconds(1) != Time.seconds(1)
    assert repr(Duration.of_seconds(5)) == "Duration(PT5S)"


def test_a_duration_of_a_fraction_is_refused_with_advice() -> None:
    with pytest.raises(TypeError, match=r"1\.5.*smaller unit"):
        Duration.of_nanos(1.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("millis", [0, 1, 999, 1000, 123_456_789_012, -1, -1000, -1001])
def test_an_instant_gives_back_the_milliseconds_it_was_made_of(millis: int) -> None:
    assert Instant.of_epoch_milli(millis).to_epoch_milli() == millis


def test_an_instant_before_the_epoch_counts_nanoseconds_forwards() -> None:
    assert Instant.of_epoch_milli(-1) == Instant(-1, 999_000_000)
    assert Instant(-2, 500_000_000).to_epoch_milli() == -1500


def test_instants_are_values() -> None:
    assert Instant(5, 7) == Instant(5, 7)
    assert Instant(5, 7) != Instant(5, 8)
    assert len({Instant(5, 7), Instant(5, 7)}) == 1
    assert repr(Instant(5, 7)) == "Instant<5, 7>"
    assert pickle.loads(pickle.dumps(Instant(5, 7))) == Instant(5, 7)


@pytest.mark.parametrize(
    ("time", "millis"),
    [
        (Time.milliseconds(7), 7),
        (Time.seconds(2), 2_000),
        (Time.minutes(2), 120_000),
        (Time.hours(2), 7_200_000),
        (Time.days(2), 172_800_000),
    ],
)
def test_a_time_is_milliseconds(time: Time, millis: int) -> None:
    assert time.to_milliseconds() == millis
    assert str(time) == f"{millis} ms"


def test_times_of_equal_length_are_equal() -> None:
    assert Time.seconds(60) == Time.minutes(1)
    assert hash(Time.seconds(60)) == hash(Time.minutes(1))
    assert Time.seconds(1) != Time.seconds(2)
    assert Time(1) != 1


@pytest.mark.parametrize("amount", [1500, timedelta(seconds=1.5), Duration.of_millis(1500), Time.milliseconds(1500)])
def test_an_amount_of_time_may_be_given_in_four_ways(amount: Duration | Time | timedelta | int) -> None:
    assert duration_to_millis(amount, "delay") == 1500


@pytest.mark.parametrize("amount", ["10 s", 1.5, True, None])
def test_another_amount_of_time_is_refused_by_the_parameters_name(amount: object) -> None:
    with pytest.raises(TypeError, match="'delay'"):
        duration_to_millis(amount, "delay")  # type: ignore[arg-type]

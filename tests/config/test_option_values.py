from __future__ import annotations

from datetime import timedelta
from enum import Enum

import pytest

from rekindle.common import Duration, Time
from rekindle.config.option_values import (
    parse_bool,
    parse_duration_ms,
    parse_enum,
    parse_float,
    parse_int,
    parse_memory_size,
    parse_port_range,
    parse_string,
)
from rekindle.exceptions import ConfigurationError


class Mode(Enum):
    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1


@pytest.mark.parametrize(
    ("labels", "millis"),
    [
        ("d day days", 86_400_000),
        ("h hour hours", 3_600_000),
        ("m min minute minutes", 60_000),
        ("s sec secs second seconds", 1_000),
        ("ms milli millis millisecond milliseconds", 1),
    ],
)
def test_every_unit_spelling_of_flink_is_read(labels: str, millis: int) -> None:
    for label in labels.split():
        assert parse_duration_ms(f"7 {label}") == 7 * millis
        assert parse_duration_ms(f"7{label.upper()}") == 7 * millis


@pytest.mark.parametrize("label", ["\u00b5s", "micro", "micros", "microsecond", "microseconds"])
def test_microseconds_are_cut_to_milliseconds(label: str) -> None:
    assert parse_duration_ms(f"2999 {label}") == 2


@pytest.mark.parametrize("label", ["ns", "nano", "nanos", "nanosecond", "nanoseconds"])
def test_nanoseconds_are_cut_to_milliseconds(label: str) -> None:
    assert parse_duration_ms(f"3999999 {label}") == 3


@pytest.mark.parametrize(
    ("value", "millis"),
    [
        ("500", 500),
        (500, 500),
        ("  7 ms ", 7),
        ("0", 0),
        ("PT5S", 5_000),
        ("PT1M30.5S", 90_500),
        ("P1DT1H", 90_000_000),
        (Duration.of_seconds(3), 3_000),
        (Time.seconds(3), 3_000),
        (timedelta(seconds=3), 3_000),
    ],
)
def test_a_duration_without_a_unit_is_milliseconds_and_other_forms_read_as_they_say(value: object, millis: int) -> None:
    assert parse_duration_ms(value) == millis


@pytest.mark.parametrize("value", ["", "s", "1 w", "1.5 s", "-5 s", "7 ms x", "PT", "P1DT", -1, 1.5, True, None])
def test_a_bad_duration_raises_with_key_and_value(value: object) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_duration_ms(value, "heartbeat.interval")
    assert "'heartbeat.interval'" in str(caught.value)
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize(
    ("labels", "size"),
    [
        ("b bytes", 1),
        ("k kb kibibytes", 1 << 10),
        ("m mb mebibytes", 1 << 20),
        ("g gb gibibytes", 1 << 30),
        ("t tb tebibytes", 1 << 40),
    ],
)
def test_every_memory_unit_of_flink_is_read(labels: str, size: int) -> None:
    for label in labels.split():
        assert parse_memory_size(f"3 {label}") == 3 * size
        assert parse_memory_size(f"3{label.upper()}") == 3 * size


def test_a_memory_size_without_a_unit_is_bytes() -> None:
    assert parse_memory_size("1024") == 1024
    assert parse_memory_size(1024) == 1024


@pytest.mark.parametrize("value", ["", "-1", "1.5m", "1 x", "mb", -1, 1.5, True, None])
def test_a_bad_memory_size_raises_with_key_and_value(value: object) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_memory_size(value, "some.size")
    assert "'some.size'" in str(caught.value)
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize(
    ("value", "ports"),
    [
        ("9123", (9123,)),
        (9123, (9123,)),
        ("0", (0,)),
        ("50100-50102", (50100, 50101, 50102)),
        ("50100-50101,50300 - 50301, 51234", (50100, 50101, 50300, 50301, 51234)),
        ("65535", (65535,)),
    ],
)
def test_port_ranges_give_all_their_ports_in_order(value: object, ports: tuple[int, ...]) -> None:
    assert parse_port_range(value) == ports


@pytest.mark.parametrize("value", ["", "a", "70000", "5-3", "-1", "1,,2", "1-", "1-2-3", None])
def test_a_bad_port_range_raises_with_key_and_value(value: object) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_port_range(value, "queryable-state.server.ports")
    assert "'queryable-state.server.ports'" in str(caught.value)
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize(
    ("value", "expected"), [("true", True), ("TRUE", True), (" False ", False), (True, True), (False, False)]
)
def test_switches_read_in_any_case(value: object, expected: bool) -> None:
    assert parse_bool(value) is expected


@pytest.mark.parametrize("value", ["yes", "1", "", 1, None])
def test_a_bad_switch_raises_with_key_and_value(value: object) -> None:
    with pytest.raises(ConfigurationError, match=r"'a\.b'"):
        parse_bool(value, "a.b")


def test_whole_numbers_are_read_within_their_bounds() -> None:
    assert parse_int(" 5 ") == 5
    assert parse_int("-5") == -5
    assert parse_int(9_999_999_999) == 9_999_999_999
    assert parse_int("1", minimum=1, maximum=1) == 1


@pytest.mark.parametrize("value", ["1.5", "1_000", "", "five", 1.0, True, None])
def test_a_bad_whole_number_raises_with_key_and_value(value: object) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_int(value, "a.b")
    assert "'a.b'" in str(caught.value)
    assert repr(value) in str(caught.value)


def test_a_number_out_of_bounds_raises_with_the_bound() -> None:
    with pytest.raises(ConfigurationError, match=r"'0'.*'a\.b'.*at least 1"):
        parse_int("0", "a.b", minimum=1)
    with pytest.raises(ConfigurationError, match=r"'11'.*'a\.b'.*at most 10"):
        parse_int("11", "a.b", maximum=10)


def test_numbers_with_a_fraction_are_read() -> None:
    assert parse_float("1e3") == 1000.0
    assert parse_float(2) == 2.0


@pytest.mark.parametrize("value", ["x", "", True, None])
def test_a_bad_number_raises_with_key_and_value(value: object) -> None:
    with pytest.raises(ConfigurationError, match=r"'a\.b'"):
        parse_float(value, "a.b")


def test_text_reads_as_flink_writes_it() -> None:
    assert [parse_string(value) for value in ("x", True, False, 5, 1.5)] == ["x", "true", "false", "5", "1.5"]


def test_choices_disregard_case_and_dashes() -> None:
    assert parse_enum("exactly-once", Mode) is Mode.EXACTLY_ONCE
    assert parse_enum("AT_LEAST_ONCE", Mode) is Mode.AT_LEAST_ONCE
    assert parse_enum(Mode.AT_LEAST_ONCE, Mode) is Mode.AT_LEAST_ONCE
    assert parse_enum("Fixed_Delay", ("none", "fixed-delay")) == "fixed-delay"
    assert parse_enum(Mode.EXACTLY_ONCE, ("EXACTLY_ONCE",)) == "EXACTLY_ONCE"


def test_an_alias_stands_for_its_choice() -> None:
    assert parse_enum("OFF", ("none",), aliases={"off": "none"}) == "none"


@pytest.mark.parametrize("value", ["sometimes", "", 1, None])
def test_no_choice_raises_with_key_value_and_the_choices(value: object) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_enum(value, Mode, "execution.checkpointing.mode")
    for part in ("'execution.checkpointing.mode'", repr(value), "EXACTLY_ONCE, AT_LEAST_ONCE"):
        assert part in str(caught.value)

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from rekindle.common import ConfigOption, ConfigOptions, Configuration, Duration
from rekindle.exceptions import ConfigurationError


@pytest.fixture
def configuration() -> Configuration:
    return (
        Configuration()
        .set_string("a", "1")
        .set_integer("b", 5)
        .set_boolean("c", True)
        .set_float("d", 1.5)
        .set_bytearray("e", bytearray(b"xyz"))
    )


def test_values_are_read_as_any_type_they_fit(configuration: Configuration) -> None:
    assert configuration.get_string("a", "") == "1"
    assert configuration.get_integer("a", 0) == 1
    assert configuration.get_float("a", 0.0) == 1.0
    assert configuration.get_string("b", "") == "5"
    assert configuration.get_float("b", 0.0) == 5.0
    assert configuration.get_string("c", "") == "true"
    assert configuration.get_boolean("c", False) is True
    assert configuration.get_float("d", 0.0) == 1.5
    assert configuration.get_bytearray("e", bytearray()) == bytearray(b"xyz")


def test_an_absent_key_reads_as_the_default(configuration: Configuration) -> None:
    assert configuration.get_string("z", "dd") == "dd"
    assert configuration.get_integer("z", 7) == 7
    assert configuration.get_boolean("z", True) is True
    assert configuration.get_float("z", 2.5) == 2.5
    assert configuration.get_bytearray("z", bytearray(b"q")) == bytearray(b"q")


def test_a_value_that_does_not_fit_raises_with_key_and_value(configuration: Configuration) -> None:
    with pytest.raises(ConfigurationError, match="'1' for the configuration key 'a'"):
        configuration.get_boolean("a", False)
    with pytest.raises(ConfigurationError, match=r"1\.5 for the configuration key 'd'"):
        configuration.get_integer("d", 0)
    with pytest.raises(ConfigurationError, match="'a' holds '1', which is not bytes"):
        configuration.get_bytearray("a", bytearray())


@pytest.mark.parametrize(
    ("setter", "value"),
    [
        ("set_string", None),
        ("set_string", 5),
        ("set_integer", "5"),
        ("set_integer", True),
        ("set_boolean", "true"),
        ("set_float", "x"),
    ],
)
def test_setting_a_value_of_another_type_raises_with_key_and_value(setter: str, value: Any) -> None:
    with pytest.raises(ConfigurationError) as caught:
        getattr(Configuration(), setter)("some.key", value)
    assert "'some.key'" in str(caught.value)
    assert repr(value) in str(caught.value)


def test_a_configuration_is_made_from_a_dict_of_text_or_plain_values() -> None:
    configuration = Configuration.from_dict({"a": "1", "b": 2, "c": True})
    assert configuration.to_dict() == {"a": "1", "b": "2", "c": "true"}
    with pytest.raises(ConfigurationError, match=r"'a' to \[1\]"):
        Configuration.from_dict({"a": [1]})
    with pytest.raises(ConfigurationError, match="keys are strings"):
        Configuration.from_dict({1: "a"})  # type: ignore[dict-item]


def test_all_values_are_given_as_text_or_as_they_were_set(configuration: Configuration) -> None:
    assert configuration.to_dict() == {
        "a": "1",
        "b": "5",
        "c": "true",
        "d": "1.5",
        "e": "!!binary |-\n  eHl6",
    }
    target: dict[str, Any] = {"a": "old", "kept": 1}
    configuration.add_all_to_dict(target)
    assert target == {"a": "1", "b": 5, "c": True, "d": 1.5, "e": b"xyz", "kept": 1}


def test_a_copy_does_not_follow_its_original(configuration: Configuration) -> None:
    copies = [Configuration(configuration), copy.deepcopy(configuration)]
    configuration.set_string("a", "2")
    assert [each.get_string("a", "") for each in copies] == ["1", "1"]


def test_equal_entries_of_equal_types_make_equal_configurations(configuration: Configuration) -> None:
    assert configuration == Configuration(configuration)
    assert hash(configuration) == hash(Configuration(configuration))
    assert pickle.loads(pickle.dumps(configuration)) == configuration
    assert Configuration().set_integer("a", 1) != Configuration().set_string("a", "1")
    assert Configuration().set_integer("a", 1) != Configuration().set_boolean("a", True)
    assert Configuration() != {}


def test_entries_are_added_with_a_prefix_and_removed_by_key(configuration: Configuration) -> None:
    added = Configuration().set_string("x", "1")
    assert added.add_all(configuration) is added
    added.add_all(Configuration().set_string("a", "2"), "pre.")
    assert added.key_set() == {"x", "a", "b", "c", "d", "e", "pre.a"}
    assert added.contains_key("pre.a")
    assert added.remove_config("pre.a") is True
    assert added.remove_config("pre.a") is False
    assert not added.contains_key("pre.a")


def test_a_value_of_false_or_zero_counts_as_set_when_it_is_removed() -> None:
    assert Configuration().set_boolean("a", False).remove_config("a") is True
    assert Configuration().set_integer("a", 0).get_integer("a", 5) == 0


def test_a_configuration_reads_as_javas() -> None:
    assert str(Configuration().set_string("a", "1").set_boolean("b", True)) == "{a=1, b=true}"


@pytest.mark.parametrize(
    ("text", "elements"),
    [
        ("", []),
        ("a", ["a"]),
        ("a;b", ["a", "b"]),
        ("[a, b]", ["a", "b"]),
        ("[]", []),
        ("[1, 2.5, true]", [1, 2.5, True]),
        ("- a\n- b", ["a", "b"]),
        ("['x;y', \"p,q\", 'it''s']", ["x;y", "p,q", "it's"]),
        ("[file:///a.jar, b c]", ["file:///a.jar", "b c"]),
        ("[a, [b]]", ["[a, [b]]"]),
    ],
)
def test_lists_are_read_from_yaml_or_semicolons(text: str, elements: list[Any]) -> None:
    assert Configuration.parse_list_value(text) == elements


def test_without_yaml_only_semicolons_separate() -> None:
    assert Configuration.parse_list_value("[a, b];c", standard_yaml=False) == ["[a, b]", "c"]


def test_an_option_has_key_type_default_and_description() -> None:
    option = ConfigOptions.key("app.parallelism").int_type().default_value(100)
    assert (option.key, option.type_name, option.default) == ("app.parallelism", "int", 100)
    assert option.with_description("How many.").description == "How many."
    assert option.description == ""
    assert option.has_default_value()
    assert not ConfigOptions.key("user.name").string_type().no_default_value().has_default_value()


@pytest.mark.parametrize(
    ("option", "text", "value"),
    [
        (ConfigOptions.key("k").boolean_type().default_value(False), "true", True),
        (ConfigOptions.key("k").int_type().default_value(1), "2", 2),
        (ConfigOptions.key("k").long_type().default_value(1), "9999999999", 9_999_999_999),
        (ConfigOptions.key("k").float_type().default_value(1.0), "2.5", 2.5),
        (ConfigOptions.key("k").double_type().default_value(1.0), "2.5", 2.5),
        (ConfigOptions.key("k").string_type().default_value("x"), "y", "y"),
        (ConfigOptions.key("k").duration_type().default_value("1 s"), "2 min", 120_000),
        (ConfigOptions.key("k").memory_type().default_value("1 kb"), "2 kb", 2048),
        (ConfigOptions.key("k").port_range_type().default_value("1"), "2-3", (2, 3)),
        (ConfigOptions.key("k").enum_type(("one", "two")).default_value("one"), "TWO", "two"),
    ],
)
def test_an_option_parses_by_its_type(option: ConfigOption[Any], text: str, value: object) -> None:
    assert Configuration().get(option) == option.default
    assert Configuration().set_string("k", text).get(option) == value


def test_an_int_option_holds_32_bits() -> None:
    option = ConfigOptions.key("k").int_type().no_default_value()
    with pytest.raises(ConfigurationError, match="at most 2147483647"):
        Configuration().set_integer("k", 1 << 31).get(option)


def test_fallback_keys_are_read_in_order_after_the_key() -> None:
    option = ConfigOptions.key("new").int_type().default_value(0).with_fallback_keys("old", "older")
    configuration = Configuration().set_integer("older", 3)
    assert configuration.get(option) == 3
    assert configuration.set_integer("old", 2).get(option) == 2
    assert configuration.set_integer("new", 1).get(option) == 1
    assert configuration.contains(option)
    assert not Configuration().contains(option)


def test_a_bad_value_under_a_fallback_key_names_that_key() -> None:
    option = ConfigOptions.key("new").int_type().default_value(0).with_fallback_keys("old")
    with pytest.raises(ConfigurationError, match="'old'"):
        Configuration().set_string("old", "x").get(option)


def test_setting_an_option_checks_the_value() -> None:
    option = ConfigOptions.key("k").duration_type().default_value("1 s")
    assert Configuration().set(option, Duration.of_minutes(1)).get(option) == 60_000
    assert Configuration().set(option, "2 min").to_dict() == {"k": "2 min"}
    with pytest.raises(ConfigurationError, match="'soon' for the configuration key 'k'"):
        Configuration().set(option, "soon")


def test_a_bad_default_is_found_when_the_option_is_made() -> None:
    with pytest.raises(ConfigurationError, match="'k'"):
        ConfigOptions.key("k").int_type().default_value("many")

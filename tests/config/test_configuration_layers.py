from __future__ import annotations

import json
from collections.abc import Callable
from itertools import combinations, product
from pathlib import Path

import pytest

from rekindle.common import Configuration
from rekindle.config.configuration_files import layered_configuration
from rekindle.config.configuration_layers import lay_over, merged, parse_properties
from rekindle.config.options import CheckpointingOptions, StateBackendOptions, all_options
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.exceptions import ConfigurationError

NAMES = ("state.backend.type", "state.backend")  # Flink 2's, Flink 1's


class Machine:
    """A directory and variables of its own, into which each layer can be written."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._directory = directory
        self._monkeypatch = monkeypatch
        self.program = Configuration()
        monkeypatch.delenv("REKINDLE_CONF_DIR")
        monkeypatch.chdir(directory)

    def file(self, key: str, value: str) -> str:
        (self._directory / "conf").mkdir(exist_ok=True)
        (self._directory / "conf" / "rekindle-conf.yaml").write_text(f"{key}: {value}\n")
        return "conf/rekindle-conf.yaml:1"

    def properties(self, key: str, value: str) -> str:
        self._monkeypatch.setenv("REKINDLE_PROPERTIES", f"\n{key}: {value}\n")
        return "$REKINDLE_PROPERTIES:2"

    def variable(self, key: str, value: str) -> str:
        name = "REKINDLE_" + key.upper().replace(".", "_").replace("-", "_")
        self._monkeypatch.setenv(name, value)
        return f"${name}"

    def command_line(self, key: str, value: str) -> str:
        self._monkeypatch.setenv("REKINDLE_DYNAMIC_PROPERTIES", json.dumps({key: value}))
        return "command line"

    def by_program(self, key: str, value: str) -> None:
        self.program.set_string(key, value)

    def configuration(self) -> Configuration:
        return StreamExecutionEnvironment.get_execution_environment(self.program)._configuration


LAYERS: list[Callable[[Machine, str, str], str | None]] = [
    Machine.file,
    Machine.properties,
    Machine.variable,
    Machine.command_line,
    Machine.by_program,
]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


@pytest.mark.parametrize(("lower_name", "upper_name"), list(product(NAMES, NAMES)))
@pytest.mark.parametrize(("lower", "upper"), list(combinations(LAYERS, 2)), ids=lambda layer: layer.__name__)
def test_the_higher_layer_wins_whichever_name_it_uses(
    machine: Machine,
    lower: Callable[[Machine, str, str], str | None],
    upper: Callable[[Machine, str, str], str | None],
    lower_name: str,
    upper_name: str,
) -> None:
    lower(machine, lower_name, "hashmap")
    origin = upper(machine, upper_name, "rocksdb")
    configuration = machine.configuration()
    assert configuration.get(StateBackendOptions.STATE_BACKEND) == "rocksdb"
    assert [name for name in NAMES if configuration.contains_key(name)] == [upper_name]
    assert str(configuration.origin_of(upper_name)) == str(origin)


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.__name__)
def test_every_layer_wins_over_the_default(machine: Machine, layer: Callable[[Machine, str, str], str | None]) -> None:
    layer(machine, "execution.checkpointing.timeout", "3 min")
    assert machine.configuration().get(CheckpointingOptions.CHECKPOINTING_TIMEOUT) == 180_000


@pytest.mark.parametrize("layer", LAYERS[:-1], ids=lambda layer: layer.__name__)
def test_a_bad_value_is_refused_with_key_and_value_and_where_it_was_written(
    machine: Machine, layer: Callable[[Machine, str, str], str]
) -> None:
    origin = layer(machine, "parallelism.default", "many")
    with pytest.raises(ConfigurationError) as caught:
        machine.configuration()
    assert "'many'" in str(caught.value)
    assert "'parallelism.default'" in str(caught.value)
    assert str(caught.value).endswith(f"It was set by: {origin}")


@pytest.mark.parametrize("layer", LAYERS[:-1], ids=lambda layer: layer.__name__)
def test_a_method_of_the_environment_wins_over_every_layer_below_the_program(
    machine: Machine, layer: Callable[[Machine, str, str], str]
) -> None:
    layer(machine, "parallelism.default", "3")
    environment = StreamExecutionEnvironment.get_execution_environment()
    assert environment.get_parallelism() == environment.get_config().get_parallelism() == 3
    assert environment.set_parallelism(5).get_parallelism() == 5


def test_configure_wins_over_what_was_set_before_whichever_name_it_uses(machine: Machine) -> None:
    machine.file("state.backend.type", "rocksdb")
    environment = StreamExecutionEnvironment.get_execution_environment()
    environment.set_parallelism(2)
    environment.configure(Configuration.from_dict({"state.backend": "hashmap", "parallelism.default": 7}))
    assert environment._configuration.get(StateBackendOptions.STATE_BACKEND) == "hashmap"
    assert environment.get_parallelism() == 7


def test_within_one_layer_the_preferred_name_wins() -> None:
    layer = Configuration.from_dict({"state.backend": "hashmap", "state.backend.type": "rocksdb"})
    assert merged([Configuration(), layer]).get(StateBackendOptions.STATE_BACKEND) == "rocksdb"


def test_keys_of_spark_and_unknown_ones_are_laid_over_by_name() -> None:
    lower = Configuration.from_dict({"spark.master": "local[1]", "shop.name": "old", "spark.a": "1"})
    lay_over(lower, Configuration.from_dict({"spark.master": "local[2]", "shop.name": "new"}))
    assert lower.to_dict() == {"spark.master": "local[2]", "shop.name": "new", "spark.a": "1"}


def test_no_name_belongs_to_two_options() -> None:
    names = [name for option in all_options() for name in option.all_keys()]
    assert len(names) == len(set(names))


def test_the_command_line_of_a_process_wins_over_the_one_that_started_it() -> None:
    variables = {"REKINDLE_DYNAMIC_PROPERTIES": '{"pipeline.name": "outer", "parallelism.default": "2"}'}
    configuration = layered_configuration({"pipeline.name": "inner"}, variables)
    assert configuration.to_dict() == {"pipeline.name": "inner", "parallelism.default": "2"}


@pytest.mark.parametrize("text", ["{", "[]", '{"a": 1}'])
def test_what_is_no_json_of_texts_in_the_dynamic_properties_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="REKINDLE_DYNAMIC_PROPERTIES"):
        layered_configuration(variables={"REKINDLE_DYNAMIC_PROPERTIES": text})


def test_properties_are_read_and_the_last_one_of_a_key_holds() -> None:
    assert parse_properties(["a=1", " b = x=y ", "a=2", "c="]) == {"a": "2", "b": "x=y", "c": ""}


@pytest.mark.parametrize("definition", ["bad", "=3", " = "])
def test_what_is_no_property_is_refused(definition: str) -> None:
    with pytest.raises(ConfigurationError, match="key=value"):
        parse_properties([definition])


def test_a_value_that_the_program_sets_anew_has_no_origin_any_more() -> None:
    configuration = layered_configuration({"pipeline.name": "a"}, {})
    copied = Configuration(configuration)
    assert str(copied.origin_of("pipeline.name")) == "command line"
    copied.set_string("pipeline.name", "b")
    assert copied.origin_of("pipeline.name") is None
    assert configuration.origin_of("pipeline.name") is not None
    assert configuration.remove_config("pipeline.name")
    assert configuration.origin_of("pipeline.name") is None

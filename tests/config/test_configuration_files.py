from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

import rekindle
from rekindle.config.configuration_environment import OTHER_VARIABLES, PROPERTIES, environment_layer, variable_of
from rekindle.config.configuration_files import configuration_file, layered_configuration
from rekindle.config.options import known_keys
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.exceptions import ConfigurationError


def write(directory: Path, text: str) -> Path:
    path = directory / "rekindle-conf.yaml"
    path.write_text(text)
    return path


def test_the_file_is_in_the_directory_that_the_variable_names(tmp_path: Path) -> None:
    path = write(tmp_path, "pipeline.name: x\n")
    configuration = layered_configuration(variables={"REKINDLE_CONF_DIR": str(tmp_path)})
    assert configuration.to_dict() == {"pipeline.name": "x"}
    assert str(configuration.origin_of("pipeline.name")) == f"{path}:1"


def test_without_the_variable_it_is_in_conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert configuration_file({}) is None
    assert layered_configuration(variables={}).to_dict() == {}
    (tmp_path / "conf").mkdir()
    write(tmp_path / "conf", "pipeline.name: x\n")
    assert configuration_file({}) == "conf/rekindle-conf.yaml"
    assert layered_configuration(variables={}).to_dict() == {"pipeline.name": "x"}


def test_a_directory_that_is_named_and_has_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"there is no file rekindle-conf\.yaml"):
        layered_configuration(variables={"REKINDLE_CONF_DIR": str(tmp_path)})


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rekindle-conf.yaml").write_bytes(b"pipeline.name: caf\xe9\n")
    with pytest.raises(ConfigurationError, match=r"rekindle-conf\.yaml"):
        layered_configuration(variables={"REKINDLE_CONF_DIR": str(tmp_path)})


def test_an_unknown_key_of_the_file_is_warned_of_once_with_file_and_line_and_suggestion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, "\nparalelism.default: 3\nspark.unheard.of: 1\n")
    monkeypatch.setenv("REKINDLE_CONF_DIR", str(tmp_path))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        StreamExecutionEnvironment.get_execution_environment()
        StreamExecutionEnvironment.get_execution_environment()
    assert [(str(warning.message), warning.filename, warning.lineno) for warning in caught] == [
        (
            f"Unknown configuration key 'paralelism.default' in {path}:2 has no effect; "
            "did you mean 'parallelism.default'?",
            str(path),
            2,
        )
    ]


def test_an_unknown_key_of_another_layer_is_warned_of_at_the_line_of_the_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REKINDLE_DYNAMIC_PROPERTIES", '{"nothing.like.it": "1"}')
    with pytest.warns(UserWarning, match=r"key 'nothing\.like\.it' \(command line\) has no effect\.") as caught:
        StreamExecutionEnvironment.get_execution_environment()
    assert [warning.filename for warning in caught] == [__file__]


def test_every_key_has_a_variable_of_its_own() -> None:
    variables = {variable_of(key) for key in known_keys()}
    assert len(variables) == len(known_keys())
    assert not variables & OTHER_VARIABLES
    assert variable_of("state.backend.local-recovery") == "REKINDLE_STATE_BACKEND_LOCAL_RECOVERY"


def test_every_key_can_be_set_by_its_variable() -> None:
    layer = environment_layer({variable_of(key): key for key in known_keys()} | {"OTHER": "x"})
    # Of two names of an option, both are kept: which one holds is the option's business.
    assert layer.to_dict() == {key: key for key in known_keys()}


def test_a_single_variable_wins_over_the_text() -> None:
    layer = environment_layer(
        {"REKINDLE_PROPERTIES": "state.backend.type: hashmap", "REKINDLE_STATE_BACKEND": "rocksdb"}
    )
    assert layer.to_dict() == {"state.backend": "rocksdb"}


def test_an_empty_variable_is_not_set() -> None:
    empty = {"REKINDLE_PIPELINE_NAME": "", "REKINDLE_PROPERTIES": "", "REKINDLE_DYNAMIC_PROPERTIES": ""}
    assert layered_configuration(variables=empty | {"REKINDLE_CONF_DIR": ""}).to_dict() == {}


def test_a_misspelt_variable_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="did you mean REKINDLE_PARALLELISM_DEFAULT, which sets 'parallelism.default'"):
        environment_layer({"REKINDLE_PARALELISM_DEFAULT": "3"})
    with pytest.warns(UserWarning, match=r"did you mean REKINDLE_STATE_DIR\?"):
        environment_layer({"REKINDLE_STATEDIR": "/state"})


def test_a_variable_that_nobody_knows_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="REKINDLE_CHECKPOINTS has no effect; no setting has that name"):
        environment_layer({"REKINDLE_CHECKPOINTS": "/checkpoints"})


def test_variables_with_another_meaning_and_those_of_kubernetes_are_not() -> None:
    services = [
        "REKINDLE_SERVICE_HOST",
        "REKINDLE_PORT_8081_TCP_ADDR",
        "REKINDLE_UI_SERVICE_PORT_REST",
    ]
    assert environment_layer(dict.fromkeys({*OTHER_VARIABLES, *services} - {PROPERTIES}, "{}")).to_dict() == {}


def test_every_variable_that_rekindle_looks_at_is_known() -> None:
    source = Path(rekindle.__file__).parent
    found = {name for file in source.rglob("*.py") for name in re.findall(r'"(REKINDLE_[A-Z_]+)"', file.read_text())}
    assert found == OTHER_VARIABLES


def test_text_in_the_environment_that_cannot_be_read_is_refused_with_its_line() -> None:
    with pytest.raises(ConfigurationError, match=r"\$REKINDLE_PROPERTIES:2:"):
        environment_layer({"REKINDLE_PROPERTIES": "a: 1\nb: ]\n"})


def test_flinks_own_file_is_read_where_there_is_no_other_and_that_is_said_once(tmp_path: Path) -> None:
    flinks = tmp_path / "flink-conf.yaml"
    flinks.write_text("taskmanager.numberOfTaskSlots: 4\nparallelism.default: 3\njobmanager.memory.flink.size: 1g\n")
    variables = {"REKINDLE_CONF_DIR": str(tmp_path)}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        configuration = layered_configuration(variables=variables)
        layered_configuration(variables=variables)
    assert configuration.to_dict() == {"parallelism.default": "3"}
    assert str(configuration.origin_of("parallelism.default")) == f"{flinks}:2"
    assert [str(warning.message) for warning in caught] == [
        f"{flinks} was read, because there is no rekindle-conf.yaml beside it. These keys of it have no effect: "
        "jobmanager.memory.flink.size, taskmanager.numberOfTaskSlots."
    ]
    write(tmp_path, "parallelism.default: 5\n")
    assert layered_configuration(variables=variables).to_dict() == {"parallelism.default": "5"}

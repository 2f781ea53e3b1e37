from __future__ import annotations

from pathlib import Path

import pytest

from rekindle.config.accepted_options import AcceptedOptions
from rekindle.config.config_options import ConfigOption
from rekindle.config.configuration_layers import command_line_layer
from rekindle.config.configuration_listing import listed_settings
from rekindle.config.options import all_options
from rekindle.config.secrets import is_secret
from support.command_line import rekindle, rekindle_here

FILE = """\
state:
  backend: rocksdb
execution.checkpointing.interval: 10 s
spark.hadoop.fs.s3a.secret.key: hush
"""


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    (tmp_path / "rekindle-conf.yaml").write_text(FILE)
    return tmp_path


def test_what_is_set_is_printed_with_where_it_was_set(conf: Path) -> None:
    ended = rekindle(
        "config",
        "-D",
        "pipeline.name=from here",
        "-Dexecution.checkpointing.interval=5 s",
        "--json",
        REKINDLE_CONF_DIR=str(conf),
        REKINDLE_PARALLELISM_DEFAULT="3",
        REKINDLE_PROPERTIES="\nheartbeat.timeout: 20 s",
    )
    assert ended.code == 0, ended.err
    file = str(conf / "rekindle-conf.yaml")
    document = ended.json()
    assert document["file"] == file
    found = {each["key"]: (each["value"], each["origin"], each["layer"]) for each in document["settings"]}
    assert found == {
        "state.backend.type": ("rocksdb", f"{file}:2", "file"),
        "execution.checkpointing.interval": ("5 s", "command line", "command line"),
        "pipeline.name": ("from here", "command line", "command line"),
        "parallelism.default": ("3", "$REKINDLE_PARALLELISM_DEFAULT", "environment"),
        "heartbeat.timeout": ("20 s", "$REKINDLE_PROPERTIES:2", "environment"),
        "spark.hadoop.fs.s3a.secret.key": ("******", f"{file}:4", "file"),
    }
    assert [each["set_as"] for each in document["settings"] if each["key"] == "state.backend.type"] == ["state.backend"]
    assert "hush" not in ended.out + ended.err


def test_people_get_a_list_by_groups_without_secrets(conf: Path) -> None:
    ended = rekindle_here("config", "-D", "rest.token=abc", "-D", "paralelism=2", REKINDLE_CONF_DIR=str(conf))
    assert ended.code == 0, ended.err
    lines = [" ".join(line.split()) for line in ended.out.splitlines()]
    file = conf / "rekindle-conf.yaml"
    assert f"execution.checkpointing.interval 10 s {file}:3" in lines
    assert f"state.backend.type (set as state.backend) rocksdb {file}:2" in lines
    assert lines.index("Checkpointing") < lines.index("StateBackend") < lines.index("Spark") < lines.index("Unknown")
    assert "abc" not in ended.out
    assert "hush" not in ended.out
    assert "warning: Unknown configuration key 'paralelism' (command line) has no effect" in ended.err


def test_all_shows_every_option_with_default_and_description() -> None:
    document = rekindle_here("config", "--all", "--json").json()
    shown = {each["key"]: each for each in document["settings"]}
    assert set(shown) == {option.key for option in all_options()}
    assert all(each["description"] and each["layer"] == "default" for each in shown.values())
    assert shown["execution.checkpointing.timeout"]["value"] == "10 min"
    assert shown["execution.checkpointing.data-inline-threshold"]["value"] == "1 kb"
    assert shown["parallelism.default"]["value"] is None
    assert "How long a checkpoint may take before it is abandoned." in rekindle_here("config", "--all").out


def test_what_has_no_effect_is_in_a_section_of_its_own_with_the_reason() -> None:
    shown = {each["key"]: each for each in rekindle_here("config", "--all", "--json").json()["settings"]}
    assert {key for key, each in shown.items() if each["group"] == "Accepted, without effect"} == {
        option.key for option in vars(AcceptedOptions).values() if isinstance(option, ConfigOption)
    }
    pool = shown["state.backend.rocksdb.memory.high-prio-pool-ratio"]
    assert (pool["value"], pool["description"]) == ("0.1", "RocksDB's Python library has caches of one priority.")
    listed = rekindle_here("config", "--all").out
    section = listed[listed.index("Accepted, without effect") :]
    assert all(key in section for key in ("io.tmp.dirs", "jobmanager.rpc.address", "task.cancellation.timeout"))
    assert "rekindle.progress" not in section


def test_keys_that_are_named_are_shown_also_if_nobody_set_them() -> None:
    document = rekindle_here("config", "--json", "state.backend", "heartbeat.interval").json()
    assert [(each["key"], each["value"], each["origin"]) for each in document["settings"]] == [
        ("state.backend.type", "hashmap", "default"),
        ("heartbeat.interval", "1 s", "default"),
    ]


def test_while_nothing_is_set_it_says_so() -> None:
    ended = rekindle_here("config")
    assert (ended.code, ended.out) == (0, "")
    assert "All settings are the defaults" in ended.err


def test_an_unknown_key_ends_with_3_and_a_suggestion() -> None:
    ended = rekindle_here("config", "--json", "paralelism.default")
    assert ended.code == 3
    assert ended.json() == {
        "error": "there is no configuration key 'paralelism.default'; did you mean 'parallelism.default'?",
        "exit_code": 3,
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-D", "bad"), "key=value"),
        (("-D", "parallelism.default=many"), "It was set by: command line"),
        (("--unknown",), "No such option"),
    ],
)
def test_what_cannot_work_ends_with_2(arguments: tuple[str, ...], message: str) -> None:
    ended = rekindle_here("config", *arguments)
    assert ended.code == 2
    assert message in ended.err


def test_a_file_that_cannot_be_read_ends_with_2_and_its_line(tmp_path: Path) -> None:
    (tmp_path / "rekindle-conf.yaml").write_text("a: 1\nb: [\n")
    ended = rekindle_here("config", REKINDLE_CONF_DIR=str(tmp_path))
    assert ended.code == 2
    assert "rekindle-conf.yaml:3" in ended.err


def test_the_help_says_what_wins() -> None:
    ended = rekindle_here("config", "--help")
    assert ended.code == 0
    assert "From the lowest to the highest" in ended.out


@pytest.mark.parametrize(
    "key", ["rest.token", "security.ssl.password", "s3.secret", "s3.access-key", "x.apiKey", "a.credentials"]
)
def test_secrets_are_told_by_their_names(key: str) -> None:
    assert is_secret(key)
    shown = {setting.key: setting.value for setting in listed_settings(command_line_layer({key: "hush"}))}
    assert shown[key] == "******"


def test_no_option_but_the_tokens_is_taken_for_a_secret() -> None:
    assert {option.key for option in all_options() if is_secret(option.key)} <= {"rest.token", "queryable-state.token"}

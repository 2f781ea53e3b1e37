"""What docs/configuration.md says of layers against what happens."""

from __future__ import annotations

import re
from pathlib import Path

from rekindle.config.configuration_environment import environment_layer
from rekindle.config.configuration_origin import OriginKind
from rekindle.config.configuration_text import read_configuration
from rekindle.config.options import option_groups
from support.command_line import rekindle

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "configuration.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_the_two_files_say_the_same() -> None:
    flat, nested, _ = (read_configuration(text, OriginKind.FILE, "page").to_dict() for text in blocks("yaml"))
    assert flat == nested
    assert flat["taskmanager.state.local.root-dirs"] == "/disk1,/disk2"


def test_the_failure_rate_has_the_keys_of_the_example() -> None:
    settings = read_configuration(blocks("yaml")[2], OriginKind.FILE, "page").to_dict()
    example = (ROOT / "examples" / "task_failure_recovery.py").read_text()
    assert list(settings) == re.findall(r'^    "(restart-strategy\..+?)": "', example, re.MULTILINE)


def test_the_program_ends_up_with_what_it_set_last() -> None:
    (program,) = blocks("python")
    names: dict[str, object] = {}
    exec(program, names)
    env = names["env"]
    assert env.get_parallelism() == 2  # type: ignore[attr-defined]
    assert env.get_checkpoint_interval() == 10_000  # type: ignore[attr-defined]


def test_the_variables_are_read() -> None:
    variables = dict(re.findall(r'^\$ export (\w+)="([^"]*)"$', blocks("console")[1], re.MULTILINE))
    assert environment_layer(variables).to_dict() == {
        "execution.checkpointing.interval": "10 s",
        "state.backend.type": "rocksdb",
        "spark.driver.memory": "2g",
    }


def test_the_command_prints_what_is_shown(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "rekindle-conf.yaml").write_text("state:\n  backend: rocksdb\n")
    command, shown = blocks("console")[0].removeprefix("$ rekindle ").split("\n", 1)
    assert rekindle(*command.split(), cwd=tmp_path, REKINDLE_CONF_DIR="").out == shown


def test_what_has_no_effect_is_listed_with_the_reason_that_the_command_prints() -> None:
    table = PAGE[PAGE.index("## Accepted, without effect") :]
    rows = dict(re.findall(r"^\| `([^`]+)` \| (.*) \|$", table, re.MULTILINE))
    accepted = option_groups()["Accepted, without effect"]
    assert {key: why.replace("`", "") for key, why in rows.items()} == {
        option.key: option.description for option in accepted
    }


def test_every_other_key_is_in_another_table() -> None:
    pages = [PAGE[: PAGE.index("## Accepted, without effect")]]
    pages += [(ROOT / "docs" / name).read_text() for name in ("checkpoints.md", "logs.md")]
    listed = set(re.findall(r"`([^`]+)`", " ".join(re.findall(r"^\| (`[^|]+) \|", "\n".join(pages), re.MULTILINE))))
    listed |= {f"execution.checkpointing.{key}" for key in listed}
    groups = option_groups()
    del groups["Accepted, without effect"]
    assert [option.key for group in groups.values() for option in group if option.key not in listed] == []

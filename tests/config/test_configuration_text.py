from __future__ import annotations

import re
from pathlib import Path

import pytest

from rekindle.common import Configuration
from rekindle.config.configuration_origin import OriginKind
from rekindle.config.configuration_text import read_configuration
from rekindle.config.options import RestartStrategyOptions, all_options, known_key
from rekindle.exceptions import ConfigurationError

SAMPLE = Path(__file__).parents[2] / "conf" / "rekindle-conf.yaml"


def read(text: str) -> Configuration:
    return read_configuration(text, OriginKind.FILE, "c.yaml")


NESTED = """
state:
  backend:
    type: rocksdb
    rocksdb:
      writebuffer: {size: 64 mb, count: 3}
execution.checkpointing:
  interval: 10 s
  num-retained: "20"
spark:
  master: local[2]
"""


def test_flat_and_nested_keys_mean_the_same() -> None:
    assert read(NESTED).to_dict() == {
        "state.backend.type": "rocksdb",
        "state.backend.rocksdb.writebuffer.size": "64 mb",
        "state.backend.rocksdb.writebuffer.count": "3",
        "execution.checkpointing.interval": "10 s",
        "execution.checkpointing.num-retained": "20",
        "spark.master": "local[2]",
    }


def test_every_value_knows_its_line() -> None:
    configuration = read(NESTED)
    assert str(configuration.origin_of("state.backend.type")) == "c.yaml:4"
    assert str(configuration.origin_of("state.backend.rocksdb.writebuffer.count")) == "c.yaml:6"
    assert str(configuration.origin_of("execution.checkpointing.num-retained")) == "c.yaml:9"


def test_values_are_text_as_it_is_written() -> None:
    written = "a: yes\nb: 1:30\nc: 0o17\nd: 2026-01-01\ne: 'x: y'\nf: 1e3\ng: off\nh: TRUE\n"
    expected = {
        "a": "yes",
        "b": "1:30",
        "c": "0o17",
        "d": "2026-01-01",
        "e": "x: y",
        "f": "1e3",
        "g": "off",
        "h": "TRUE",
    }
    assert read(written).to_dict() == expected
    assert read("restart-strategy: off").get(RestartStrategyOptions.RESTART_STRATEGY) == "none"


@pytest.mark.parametrize("text", ["python.files: [/a, '/b']", "python.files:\n- /a\n- /b"])
def test_a_list_is_its_elements_with_commas_between(text: str) -> None:
    assert read(text).to_dict() == {"python.files": "/a,/b"}


def test_a_mapping_below_an_option_is_its_value() -> None:
    text = "pipeline:\n  global-job-parameters:\n    day: monday\n    level: 3\n  name: x\n"
    assert read(text).to_dict() == {"pipeline.global-job-parameters": "day:monday,level:3", "pipeline.name": "x"}


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "~", "state:\n  # backend: rocksdb\n", "a:\n", "a: null"])
def test_what_has_no_value_is_not_set(text: str) -> None:
    assert read(text).to_dict() == {}


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a: 1\nb: [1, 2\nc: 3\n", 3, "expected ',' or ']'"),
        ("a: 1\n\tb: 2\n", 2, "cannot start any token"),
        ("a: 1\n--- \nb: 2\n", 2, "another document"),
        ("- a\n- b\n", 1, "key: value"),
        ("just text", 1, "key: value"),
        ("a: 1\nb: 2\na: 3\n", 3, "'a' was set in line 1"),
        ("a.b: 1\na:\n  b: 2\n", 3, "'a.b' was set in line 1"),
        ("a: 1\n? [x]\n: 2\n", 2, "a key is a name"),
        ("a:\n- [1]\n", 2, "list of lists"),
        ("a:\n- 'x,y'\n", 2, "comma"),
        ("a: *unknown\n", 1, "undefined alias"),
        ("a: &again\n  b: *again\n", 1, "nested too deep"),
    ],
)
def test_what_cannot_be_read_is_refused_with_file_and_line(text: str, line: int, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(problem)) as caught:
        read(text)
    assert f"c.yaml:{line}:" in str(caught.value)


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"c\.yaml"):
        read("a: \x00")


def test_everything_in_the_sample_is_commented_out_and_would_work() -> None:
    text = SAMPLE.read_text()
    assert read(text).to_dict() == {}
    shown = read(re.sub(r"^#(?=[a-z ])(?! )", "", text, flags=re.MULTILINE))
    assert len(shown.key_set()) > 10
    assert [key for key in shown.key_set() if not known_key(key)] == []
    for option in all_options():
        option.get_from(shown)

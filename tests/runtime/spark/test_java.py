"""Finding the Java that Spark needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from rekindle.exceptions import SparkSetupError
from rekindle.runtime.spark.java import parse_java_version, require_java

OPENJDK_17 = 'openjdk version "17.0.9" 2023-10-17\nOpenJDK Runtime Environment (build 17.0.9+9)\n'


def install_java(directory: Path, says: str) -> Path:
    """Install a Java that only tells its version, on standard error as Java does."""
    java = directory / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{says}END\n")
    java.chmod(0o755)
    return java


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide the Java of this machine; tools such as cat stay."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "cat").symlink_to("/bin/cat")
    monkeypatch.setenv("PATH", str(tmp_path / "tools"))
    monkeypatch.delenv("JAVA_HOME", raising=False)


@pytest.mark.parametrize(
    ("says", "version"),
    [
        (OPENJDK_17, 17),
        ('java version "21" 2023-09-19 LTS', 21),
        ('openjdk version "1.8.0_392"', 8),
        ('openjdk version "11.0.21" 2023-10-17', 11),
        ('openjdk version "22-ea" 2024-03-19', 22),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "17.0.9"', 17),
        ("command not understood", None),
        ("", None),
    ],
)
def test_the_version_is_read_from_what_java_says(says: str, version: int | None) -> None:
    assert parse_java_version(says) == version


def test_java_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = install_java(tmp_path / "other", OPENJDK_17)
    java = install_java(tmp_path / "home", OPENJDK_17)
    monkeypatch.setenv("PATH", str(other.parent), prepend=":")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert require_java() == str(java)


def test_without_java_home_the_path_is_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = install_java(tmp_path / "other", OPENJDK_17)
    monkeypatch.setenv("PATH", str(java.parent), prepend=":")
    assert require_java() == str(java)


def test_where_there_is_no_java_it_says_what_to_install() -> None:
    with pytest.raises(SparkSetupError, match=r"JAVA_HOME is not set .*PATH.*needs Java 17.*apt-get install"):
        require_java()


def test_a_java_home_without_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing here"))
    with pytest.raises(SparkSetupError, match=r"nothing here/bin/java cannot be started: No such file"):
        require_java()


@pytest.mark.parametrize(("says", "version"), [('openjdk version "11.0.21"\n', 11), ('openjdk version "1.8.0"\n', 8)])
def test_a_java_that_is_too_old_is_named_with_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, version: int
) -> None:
    java = install_java(tmp_path / "old", says)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    with pytest.raises(SparkSetupError, match=rf"{java} is Java {version}\. Spark needs Java 17"):
        require_java()


def test_something_that_is_no_java_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_java(tmp_path / "odd", "I am a coffee machine\n")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "odd"))
    with pytest.raises(SparkSetupError, match="does not say which version of Java it is"):
        require_java()

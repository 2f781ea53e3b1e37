"""The name under which Rekindle is installed is its own, and what pages and errors tell people to install is that."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TEXTS = [
    ROOT / "README.md",
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "src").rglob("*.py"),
    *(ROOT / "deploy").rglob("*"),
]


def test_the_distribution_does_not_have_the_name_of_the_stranger_on_pypi() -> None:
    assert PROJECT["name"] == "rekindle-spark"
    assert list(PROJECT["scripts"]) == ["rekindle"]


def test_nothing_tells_people_to_install_that_stranger() -> None:
    """With or without extras, quoted or not; the README alone names it, to warn of it."""
    strange = re.compile(r"""pip install[^`\n]*[ "']rekindle(?![-\w/.])""")
    texts = {path: path.read_text(errors="replace") for path in TEXTS if path.is_file() and path.suffix != ".pyc"}
    found = [
        (str(path.relative_to(ROOT)), match.group())
        for path, text in texts.items()
        for match in strange.finditer(text)
        if not text[: match.start()].endswith("Do not `")
    ]
    assert found == []


@pytest.mark.parametrize(
    ("extra", "file"),
    [
        ("kafka", "connectors/kafka/kafka_clients.py"),
        ("postgres", "connectors/jdbc/postgresql_dialect.py"),
        ("testing", "testing/state_machine.py"),
    ],
)
def test_an_error_names_what_the_extra_installs_so_that_it_works_from_a_checkout_and_from_a_wheel(
    extra: str, file: str
) -> None:
    (requirement,) = PROJECT["optional-dependencies"][extra]
    assert f'pip install "{requirement}"' in (ROOT / "src" / "rekindle" / file).read_text()

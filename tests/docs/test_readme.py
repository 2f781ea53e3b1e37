"""The documentation against the code: programs run, links lead somewhere, settings exist with the defaults given."""

from __future__ import annotations

import importlib.util
import re
import runpy
import subprocess
from pathlib import Path

import pytest

from rekindle.config.options import all_options, known_key
from support.on_spark import ON_SPARK

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
CONFIGURATION = ROOT / "docs" / "configuration.md"
DOCUMENTS = [
    README,
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "examples" / "README.md",
]
OPTIONS = {option.key: option for option in all_options()}
KEY = re.compile(r"[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+")
KEY_FAMILIES = {key.split(".")[0] for option in all_options() for key in option.all_keys()}

each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)


def python_blocks(document: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", document.read_text(), re.DOTALL | re.MULTILINE)


def code_spans(document: Path) -> list[str]:
    prose = re.sub(r"^```.*?^```$", "", document.read_text(), flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"`([^`\n]+)`", prose)


def anchors(document: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_readme_is_short() -> None:
    assert len(README.read_text().splitlines()) <= 180
    assert len((ROOT / "CONTRIBUTING.md").read_text().splitlines()) <= 120


def test_the_program_in_the_readme_is_the_quickstart() -> None:
    assert python_blocks(README)[0] == (ROOT / "examples" / "quickstart.py").read_text()


def test_the_program_about_state_is_the_example() -> None:
    assert python_blocks(ROOT / "docs" / "state.md")[0] == (ROOT / "examples" / "keyed_state.py").read_text()


@pytest.mark.usefixtures("spark", "no_slots_left")
def test_the_quickstart_runs_as_it_stands(capfd: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / "quickstart.py"), run_name="__main__")
    counted = [line.split("> ", 1)[1] for line in capfd.readouterr().out.splitlines()]
    assert sorted(counted) == sorted(f"{n}0000 numbers end in {digit}" for n in (1, 2) for digit in range(10))


@each_document
def test_every_piece_of_python_compiles(document: Path) -> None:
    for block in python_blocks(document):
        compile(block, document.name, "exec")


@each_document
def test_every_link_leads_to_a_file_and_a_heading(document: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", document.read_text()):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        linked = (document.parent / path).resolve() if path else document
        assert linked.is_file(), f"{document.name} links to {target}"
        assert not anchor or anchor in anchors(linked), f"{document.name} links to {target}"


@each_document
def test_every_file_that_is_named_exists(document: Path) -> None:
    named = [span for span in code_spans(document) if re.fullmatch(r"[\w.-]+(?:/[\w.-]+)*\.(?:py|md|toml)", span)]
    named += re.findall(r"^    (src/rekindle\S*)", document.read_text(), re.MULTILINE)
    for name in named:
        assert (ROOT / name).exists() or (ROOT / "src" / "rekindle" / name).exists(), f"{document.name} names {name}"


@each_document
def test_every_setting_that_is_named_exists(document: Path) -> None:
    for span in code_spans(document):
        key = re.split(r"[=:]", span)[0]
        if KEY.fullmatch(key) and key.split(".")[0] in KEY_FAMILIES:
            assert known_key(key) or importlib.util.find_spec(key), f"{document.name} names {key}"


def test_every_default_in_the_configuration_tables_is_the_default() -> None:
    tables = CONFIGURATION.read_text().partition("\n## Accepted, without effect\n")[0]
    rows = re.findall(r"^\| `([^`]+)` \| (\S[^|]*) \|", tables, re.MULTILINE)
    assert len(rows) > 30
    for key, default in rows:
        option = OPTIONS[key]
        expected = None if default == "–" else option.parse(default.strip("`"))  # noqa: RUF001 - a dash, not a minus
        assert option.default == expected, key


def test_make_test_looks_for_tests_on_spark_wherever_they_may_be() -> None:
    names = runpy.run_path(str(ROOT / "scripts" / "run_tests.py"))
    assert {ROOT / name for name in (*names["ON_SPARK"], names["SERVICES"])} == ON_SPARK


def test_every_benchmark_is_in_the_list_of_make_and_on_the_page_about_performance() -> None:
    benchmarks = {path.stem for path in (ROOT / "benchmarks").glob("*.py")} - {"measuring"}
    (listed,) = re.findall(r"^bench:.* ## (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    described = re.findall(
        r"^\| `make bench(?: BENCH=(\w+))?` \|", (ROOT / "docs" / "performance.md").read_text(), re.MULTILINE
    )
    assert set(re.findall(r"\b[a-z_]{3,}\b", listed)) == benchmarks
    assert {name or "keyed_state" for name in described} == benchmarks


def test_make_help_names_every_target_with_a_sentence() -> None:
    run = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)

    listed = dict(re.findall(r"^make ([\w-]+) +(\S.*\.)$", run.stdout, re.MULTILINE))
    assert listed.keys() == {"help", "demo", "test", "quick", "test-spark", "lint", "docs", "bench", "clean"}

"""What ``mypy --strict`` says of programs: it accepts the good ones, and finds what is wrong in the bad ones.

A line of a bad program that is wrong names the codes of its errors, as in ``# error: attr-defined``. No other line may
have any. The programs under ``examples/`` are checked, too; their functions need no annotations.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
GOOD = sorted(HERE.glob("good/*.py"))
BAD = sorted(HERE.glob("bad/*.py"))
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGE = ROOT / "docs" / "streams.md"
KEPT = ROOT / ".mypy_cache" / "types_of_streams"
"""What mypy has learned about the library. It remembers errors by the path of a file, too."""

CONFIGURATION = """
[mypy]
strict = true
warn_unreachable = true
follow_imports = silent
mypy_path = {path}
explicit_package_bases = true
namespace_packages = true

[mypy-examples.*]
disallow_untyped_defs = false
disallow_incomplete_defs = false
disallow_untyped_calls = false

[mypy-pyspark.*,py4j.*,pyarrow.*,cloudpickle.*,xxhash.*]
ignore_missing_imports = true
"""

Errors = dict[int, list[str]]
"""The codes of errors, by line."""


def _errors_said(program: Path) -> Errors:
    """Return the errors that the comments of a program announce."""
    said = {}
    for number, line in enumerate(program.read_text().splitlines(), start=1):
        comment = re.search(r"# error: ([a-z-]+(?:, [a-z-]+)*)$", line)
        if comment:
            said[number] = comment[1].split(", ")
    return said


@pytest.fixture(scope="module")
def programs_of_the_page() -> tuple[Path, Path]:
    """Return the program that the page on streams has for types, and the one of which it says what is wrong."""
    (program,) = re.findall(
        r"^## Types for editors.*?^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE
    )
    assert "lambda order: order.customer" in program
    as_printed, misspelt = KEPT / "page" / "as_printed.py", KEPT / "page" / "misspelt.py"
    as_printed.parent.mkdir(parents=True, exist_ok=True)
    as_printed.write_text(program)
    misspelt.write_text(program.replace("lambda order: order.customer", "lambda order: order.client"))
    return as_printed, misspelt


@pytest.fixture(scope="module")
def errors_found(
    tmp_path_factory: pytest.TempPathFactory, programs_of_the_page: tuple[Path, Path]
) -> dict[Path, Errors]:
    """Run mypy once, over all programs; what it learns about the library is kept for the next time."""
    configuration = tmp_path_factory.mktemp("mypy") / "mypy.ini"
    path = ":".join(map(str, (ROOT / "src", HERE, KEPT / "page", ROOT)))
    configuration.write_text(CONFIGURATION.format(path=path))
    command = [sys.executable, "-m", "mypy", f"--config-file={configuration}", f"--cache-dir={KEPT}"]
    output = ["--no-error-summary", "--no-pretty", "--hide-error-context", "--show-error-codes"]
    files = (str(file.relative_to(ROOT)) for file in (*GOOD, *BAD, *EXAMPLES, *programs_of_the_page))
    run = subprocess.run([*command, *output, *files], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    found: dict[Path, Errors] = defaultdict(lambda: defaultdict(list))
    for line in run.stdout.splitlines():
        error = re.fullmatch(r"(.+?):(\d+): error: .*\[([a-z-]+)\]", line)
        if error:
            found[ROOT / error[1]][int(error[2])].append(error[3])
        else:
            assert ": note: " in line, line
    return found


def _by_line(errors: Errors) -> Errors:
    return {line: sorted(codes) for line, codes in errors.items()}


@pytest.mark.parametrize("program", GOOD, ids=lambda program: program.stem)
def test_mypy_accepts_programs_whose_types_fit(program: Path, errors_found: dict[Path, Errors]) -> None:
    assert not errors_found.get(program)


@pytest.mark.parametrize("program", BAD, ids=lambda program: program.stem)
def test_mypy_finds_each_line_that_is_wrong_and_no_other(program: Path, errors_found: dict[Path, Errors]) -> None:
    said = _errors_said(program)
    assert said
    assert _by_line(errors_found.get(program, {})) == _by_line(said)


@pytest.mark.parametrize("program", EXAMPLES, ids=lambda program: program.stem)
def test_mypy_accepts_the_examples(program: Path, errors_found: dict[Path, Errors]) -> None:
    assert not errors_found.get(program)


def test_mypy_says_what_the_page_on_streams_says(
    programs_of_the_page: tuple[Path, Path], errors_found: dict[Path, Errors]
) -> None:
    as_printed, misspelt = programs_of_the_page
    assert not errors_found.get(as_printed)
    assert list(errors_found[misspelt].values()) == [["attr-defined"]]

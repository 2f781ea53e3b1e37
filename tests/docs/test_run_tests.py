"""What ``make test`` prints: above all, at its end, which tests have failed."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "run_tests.py"
TESTS = {
    "delta": "def test_one(): assert 1 == 2\n",
    "smoke": "import pytest\n@pytest.fixture\ndef broken(): raise OSError\ndef test_two(broken): pass\n",
    "others": "import pytest\ndef test_three(): pass\ndef test_four(): pytest.skip('no room')\n",
}


def test_the_names_of_failed_tests_come_at_the_end(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name, text in TESTS.items():
        (tmp_path / f"test_{name}.py").write_text(text)
    script = runpy.run_path(str(SCRIPT))

    def part(*names: str) -> object:
        reports = [str(tmp_path / f"{name}.xml") for name in names]
        command = "{0} -m pytest -q -p no:cacheprovider --rootdir {1} --junitxml {2} {3}; true"
        commands = [
            ("sh", "-c", command.format(sys.executable, tmp_path, report, tmp_path / f"test_{name}.py"))
            for name, report in zip(names, reports, strict=True)
        ]
        return script["Part"](" and ".join(names), commands, reports=reports)

    script["main"].__globals__["quick"] = lambda directory: [part("delta", "smoke"), part("others")]
    script["main"](["quick"])
    end = capfd.readouterr().out.partition("skipped 1 tests\n")[2].splitlines()
    assert end[0].strip().startswith("test_others.test_four: ")
    assert end[1:5] == ["", "failed 2 tests", "  test_delta.test_one", "  test_smoke.test_two"]

"""A driver that cannot print, or show, what its job does: that is lost, and neither the slots nor the job."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from rekindle.exceptions import JobExecutionError
from rekindle.runtime.master.views.progress import JobObserver, ProgressView
from rekindle.testing import local_environment
from support.command_line import rekindle_command
from support.driver import python_path
from support.processes import tag_environment

PROGRAM = """\
from rekindle.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
cities = env.from_collection([f"Zürich {number}" for number in range(200)])
cities.key_by(len).map(lambda city: (city, print(city))[0]).print()
env.execute("cities")
"""


@pytest.mark.spark
@pytest.mark.parametrize(
    ("to", "variables", "said"),
    [
        ("> /dev/full", {}, "the rest is dropped, and the jobs go on: [Errno 28] No space left on device"),
        ("| true", {}, "the rest is dropped, and the jobs go on: [Errno 32] Broken pipe"),  # gone by then
        ("", {"PYTHONIOENCODING": "ascii"}, "the rest is escaped, and the jobs go on: its encoding, ascii"),
        (">&-", {}, ""),  # nothing is lost that was wanted
    ],
    ids=["full", "pipe", "ascii", "closed"],
)
def test_a_job_whose_output_cannot_be_written_finishes(
    to: str, variables: dict[str, str], said: str, tmp_path: Path
) -> None:
    (tmp_path / "cities.py").write_text(PROGRAM)
    errors = tmp_path / "errors"
    run = " ".join(rekindle_command("run", "-D", "restart-strategy.type=none", str(tmp_path / "cities.py")))
    ended = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {run} 2> {errors} {to}"],
        env={**tag_environment("broken-output"), "PYTHONPATH": python_path(), **variables},
        capture_output=True,
        text=True,
        timeout=180,
    )
    shown = errors.read_text()
    assert ended.returncode == 0, shown
    assert shown.count("cannot show all that jobs print") == bool(said), shown
    assert said in shown
    assert "[cities] FINISHED" in shown
    assert "attempt 2" not in shown
    for trouble in ("Traceback", "Exception ignored", "was lost"):
        assert trouble not in shown
    if not to:
        lines = [line.rpartition("> ")[2] for line in ended.stdout.splitlines()]
        assert sorted(lines) == sorted([f"Z\\xfcrich {number}" for number in range(200)] * 2)


class BrokenView(ProgressView):
    """Raise at all that it is told."""


def _raise(self: BrokenView, *arguments: Any) -> None:
    raise OSError("the terminal is gone")


for name in [*vars(JobObserver), "show"]:
    if not name.startswith("_"):
        setattr(BrokenView, name, _raise)


def show(number: int) -> int:
    print(number)
    return number


def fail_at_five(number: int) -> int:
    return number // (number - 5)


@pytest.fixture
def broken_view(monkeypatch: pytest.MonkeyPatch) -> None:
    place = "rekindle.datastream.stream_execution_environment.progress_view"
    monkeypatch.setattr(place, lambda wanted, job_name: BrokenView(job_name))


@pytest.mark.usefixtures("broken_view")
def test_a_job_whose_view_raises_at_everything_gives_its_results(caplog: pytest.LogCaptureFixture) -> None:
    numbers = local_environment(2).from_collection(list(range(10))).map(show).key_by(lambda number: number)
    with numbers.execute_and_collect("orders") as results:
        assert sorted(results) == list(range(10))
    assert any(line.startswith("BrokenView of job 'orders' raised OSError") for line in caplog.messages)


@pytest.mark.usefixtures("broken_view")
def test_a_job_whose_view_raises_at_everything_fails_by_its_own_error() -> None:
    numbers = local_environment(2).from_collection(list(range(10))).map(fail_at_five)
    with pytest.raises(JobExecutionError, match="ZeroDivisionError"), numbers.execute_and_collect("orders") as results:
        list(results)

"""Jobs in a notebook: lines stand under the cell that started the job, and objects show themselves as tables."""

from __future__ import annotations

import importlib.util
import io
import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rekindle.base.html_table import html_table
from rekindle.common import CompletableFuture, JobExecutionResult, JobID, JobStatus
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.runtime.master.client import LocalJobClient
from rekindle.runtime.master.views import progress
from rekindle.runtime.master.views.notebook_panel import Panel
from rekindle.runtime.master.views.notebook_view import KEPT_LINES, NotebookView
from rekindle.runtime.master.views.progress import EpochSummary, LogView
from rekindle.runtime.master.views.view_choice import progress_view
from support.driver import python_path
from support.in_process_master import Cluster, cluster

__all__ = ["cluster"]

EVIL = "<script>alert('x')</script>"


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Seem to be a notebook."""
    shell = SimpleNamespace(execution_count=7, kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))  # type: ignore[arg-type]
    return shell


@pytest.fixture
def view(shell: Any, caplog: pytest.LogCaptureFixture) -> NotebookView:
    caplog.set_level(logging.INFO, "rekindle")
    view = progress_view("auto", "orders")
    assert isinstance(view, NotebookView)
    return view


def test_lines_are_shown_while_the_cell_runs_that_started_the_job(
    view: NotebookView, shell: Any, caplog: pytest.LogCaptureFixture
) -> None:
    out = io.StringIO()
    view.attempt_started(0, None)
    view.show("printed\n", out)
    shell.execution_count += 1  # the cell has ended
    view.failed(ValueError("broken"), 5)
    view.show("printed later\n", out)
    assert out.getvalue() == "printed\n"
    assert [vars(record)["shown_elsewhere"] for record in caplog.records] == [False, True], "the application gets both"
    kept = view.recent_lines()
    begun, failed = kept["Log"]
    assert begun.endswith("INFO    attempt 1 runs, from the beginning")
    assert failed.endswith("WARNING failure (restart in 5 ms): broken")
    assert kept["Printed since"] == ["printed later"]


def test_the_lines_that_are_kept_are_limited(view: NotebookView, shell: Any) -> None:
    shell.execution_count += 1
    for number in range(3 * KEPT_LINES):
        view.show(f"{number}\n{number}\n", io.StringIO())
    view.notice("still there")
    kept = view.recent_lines()
    last = range(3 * KEPT_LINES - KEPT_LINES // 2, 3 * KEPT_LINES)
    assert kept["Printed since"] == [str(number) for number in last for _ in "12"]
    assert len(kept["Log"]) == 1


class Shown:
    """Seem to be what IPython has shown."""

    def __init__(self, content: str) -> None:
        self.contents = [content]

    def update(self, content: str) -> None:
        self.contents.append(content)


def panel_of(view: NotebookView, now: list[float]) -> list[Shown]:
    """Give a view a panel; return where it is shown."""
    shown: list[Shown] = []

    def show(content: str) -> Shown:
        shown.append(Shown(content))
        return shown[-1]

    view._panel = Panel(view.job_name, show, str, lambda: now[0])
    return shown


def test_a_panel_is_brought_up_to_date_in_place(
    view: NotebookView, shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    shown = panel_of(view, now)
    view.job_id = "ab"
    view.start()
    view.reachable_at("http://127.0.0.1:8081")
    shell.execution_count += 1  # the cell has ended: the panel lives on
    view.attempt_started(0, None)
    now[0] = 5.0
    view.epoch_finished(EpochSummary(1, 10, 10, 0.5, 0))
    (panel,) = shown
    for part in ("orders", "RUNNING", "10, 2/s", "1970-01-01", "http://127.0.0.1:8081/#/jobs/ab/overview"):
        assert part in panel.contents[-1]
    view.failed(ValueError(f"broken {EVIL}\nmore"), 5)
    assert "RESTARTING" in panel.contents[-1]
    assert "<script" not in panel.contents[-1]
    view.ended("FINISHED")
    assert "FINISHED" in panel.contents[-1]
    assert len(shown) == 1


def test_a_panel_is_drawn_once_a_second_at_most(view: NotebookView) -> None:
    now = [0.0]
    panels = panel_of(view, now)
    view.start()
    (shown,) = panels
    before = len(shown.contents)
    for number in range(100):
        view.epoch_finished(EpochSummary(number, 1, 1, 0.01, 0))
    assert len(shown.contents) == before
    now[0] = 1.5
    view.epoch_finished(EpochSummary(101, 1, 1, 0.01, 0))
    assert len(shown.contents) == before + 1
    assert "101" in shown.contents[-1]


def test_a_panel_that_cannot_be_shown_does_not_concern_the_job(
    view: NotebookView, caplog: pytest.LogCaptureFixture
) -> None:
    def show(content: object) -> None:
        raise RuntimeError("no such kernel")

    view._panel = Panel("orders", show, str)
    view.start()
    view.attempt_started(0, None)
    view.ended("FINISHED")
    assert caplog.text.count("is not shown in the notebook any more: no such kernel") == 1


@pytest.mark.parametrize("wanted", ["auto", "log"])
def test_a_terminal_with_ipython_is_no_notebook(shell: Any, wanted: str) -> None:
    assert type(progress_view(wanted, "orders")) is NotebookView
    del shell.kernel
    assert type(progress_view("log", "orders")) is LogView


def test_a_table_escapes_everything_and_leaves_out_what_is_not_known() -> None:
    html = html_table(EVIL, {EVIL: EVIL, "Unknown": None}, {EVIL: [EVIL, "a < b"], "Empty": []})
    assert html.count("&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;") == 5
    assert "<script" not in html
    assert "a &lt; b" in html
    assert "Unknown" not in html
    assert "Empty" not in html


def test_a_result_is_a_table() -> None:
    html = JobExecutionResult(JobID(), 12_345, {"seen": EVIL})._repr_html_()
    assert "12,345 ms" in html
    assert "seen" in html
    assert "<script" not in html


def test_a_job_is_a_table_with_its_state_and_last_lines(
    cluster: Cluster, shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).map(lambda number: int(EVIL)).print()
    master = cluster.submit(env)
    master.result.exception(60)
    monkeypatch.setattr(master, "recent_lines", lambda: {"Log": ["a line", EVIL]})
    html = LocalJobClient(master)._repr_html_()
    for part in (master.settings.job_id, "in process", "FAILED", "ValueError", "a line\n&lt;script&gt;"):
        assert part in html
    assert "<script" not in html


@pytest.mark.parametrize("answers", [True, False])
def test_a_job_elsewhere_is_a_table_also_if_it_does_not_answer(monkeypatch: pytest.MonkeyPatch, answers: bool) -> None:
    from rekindle.client.remote_job_client import RemoteJobClient

    def status(self: object) -> CompletableFuture[JobStatus]:
        if not answers:
            raise ConnectionError(EVIL)
        return CompletableFuture.completed(JobStatus.RUNNING)

    monkeypatch.setattr(RemoteJobClient, "get_job_status", status)
    html = RemoteJobClient(SimpleNamespace(job_id="a" * 32))._repr_html_()  # type: ignore[arg-type]
    assert "a" * 32 in html
    assert ("RUNNING" in html) == answers
    assert "<script" not in html


RUNNER = """\
import json, sys
import nbformat
from nbclient import NotebookClient

notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in json.load(sys.stdin)])
NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
print(json.dumps([cell.outputs for cell in notebook.cells]))
"""
CELLS = (
    "import sys\nsys.argv[1:] = ['notebook', 'execution.checkpointing.interval=100 ms']\n"
    "import support.programs.endless_without_spark as program\n"
    "program.numbers.print()\nclient = program.env.execute_async('endless')",
    "import time\nuntil = time.monotonic() + 60\n"
    "while 'Last checkpoint' not in client._repr_html_() and time.monotonic() < until:\n    time.sleep(0.1)\n"
    "print('two')",
    "client",
    "client.cancel().result()",
    "program.env.from_collection([1]).print()\nprogram.env.execute('short')",
)


def test_in_a_real_notebook_nothing_lands_in_other_cells(tmp_path: Path) -> None:
    for package in ("ipykernel", "nbclient", "nbformat"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} (PyPI) is not installed")
    variables = {"PYTHONPATH": python_path(Path(__file__).parents[3]), "JUPYTER_RUNTIME_DIR": str(tmp_path)}
    ended = subprocess.run(
        [sys.executable, "-c", RUNNER],
        input=json.dumps(CELLS),
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
        check=True,
        timeout=300,
    )
    outputs = json.loads(ended.stdout)
    texts = ["".join(output.get("text", "") for output in cell) for cell in outputs]
    assert texts[1:4] == ["two\n", "", ""]
    assert "[short] FINISHED" in texts[4]
    assert "1\n" in texts[4]
    (shown,) = outputs[2]
    assert "attempt 1 runs" in shown["data"]["text/html"]
    assert "<b>Job finished</b>" in outputs[4][-1]["data"]["text/html"]
    panel = next(output["data"]["text/html"] for output in outputs[0] if "data" in output)
    assert "CANCELED" in panel, "the panel of the first cell has heard of what the fourth one did"
    assert "Epochs" in panel

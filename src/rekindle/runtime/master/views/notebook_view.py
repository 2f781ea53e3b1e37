"""The view of a job in a notebook: a live panel, and lines that stand under the cell that started the job, or are kept.

In a notebook, what a thread prints appears under whichever cell runs at the moment. So lines are shown only while the
cell runs in which the job was started, as with ``execute``. Those that come later are kept, a limited number of them,
and are shown with the job's client: see ``LocalJobClient``.
"""

from __future__ import annotations

import logging
import sys
import time
from collections import deque
from typing import Any, TextIO

from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.logs.events import log_event
from rekindle.logs.formats import iso_time
from rekindle.runtime.master.views.checkpoint_lines import describe_checkpoint
from rekindle.runtime.master.views.notebook_panel import Panel
from rekindle.runtime.master.views.progress import EpochSummary, LogView, format_watermark

KEPT_LINES = 200


class Cell:
    """Tell whether the cell still runs that ran when this was made.

    Args:
        shell: IPython's.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._number = shell.execution_count

    @property
    def runs(self) -> bool:
        """Return whether it does: IPython counts on when a cell has ended."""
        return bool(self._shell.execution_count == self._number)


def current_cell() -> Cell | None:
    """Return the cell of the notebook that this program is; None: it is no notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return None if getattr(shell, "kernel", None) is None else Cell(shell)


class NotebookView(LogView):
    """Show a panel and lines under the cell that started the job; keep the last lines, of the log and of the job's own.

    Args:
        job_name: The job's name.
        cell: The cell.
        panel: The live panel; None: there is none.
    """

    def __init__(self, job_name: str, cell: Cell, panel: Panel | None = None) -> None:
        super().__init__(job_name)
        self._cell = cell
        self._panel = panel
        self._epochs = 0
        self._logged: deque[str] = deque(maxlen=KEPT_LINES)
        self._printed: deque[str] = deque(maxlen=KEPT_LINES)

    def start(self) -> None:
        super().start()
        if self._panel is not None:
            self._panel.begin()

    def attempt_started(self, attempt: int, checkpoint_id: int | None) -> None:
        super().attempt_started(attempt, checkpoint_id)
        self._put(True, State="RUNNING", Restarts=attempt)

    def epoch_finished(self, summary: EpochSummary) -> None:
        super().epoch_finished(summary)
        self._epochs += 1
        self._put(
            False,
            Epochs=f"{self._epochs:,}",
            Records_from_sources=f"{self._records:,}, {self._rate:,.0f}/s",
            Watermark=format_watermark(summary.watermark),
        )

    def checkpoint_completed(self, checkpoint: CompletedCheckpoint) -> None:
        super().checkpoint_completed(checkpoint)
        self._put(False, Last_checkpoint=describe_checkpoint(checkpoint))

    def reachable_at(self, url: str) -> None:
        super().reachable_at(url)
        self.dashboard_at(url)

    def dashboard_at(self, url: str) -> None:
        if self._panel is not None:
            page = url if "?" in url else f"{url}/"
            self._panel.link_to(f"{page}#/jobs/{self.job_id}/overview")

    def failed(self, error: BaseException, delay_ms: int | None) -> None:
        super().failed(error, delay_ms)
        state = "FAILED" if delay_ms is None else "RESTARTING"
        self._put(True, State=state, Last_failure=str(error).partition("\n")[0])

    def ended(self, status: str) -> None:
        super().ended(status)
        self._put(True, State=status)

    def _put(self, at_once: bool, **rows: object) -> None:
        if self._panel is not None:
            self._panel.put(at_once, **rows)

    def recent_lines(self) -> dict[str, list[str]]:
        return {"Log": list(self._logged), "Printed since": list(self._printed)}

    def show(self, text: str, stream: TextIO | None) -> None:
        if self._cell.runs:
            super().show(text, stream)
        else:
            self._printed.extend(text.splitlines())

    def _log(self, event: str, text: str, level: int = logging.INFO, **fields: Any) -> None:
        self._logged.extend(f"{iso_time(time.time())} {logging.getLevelName(level):<7} {text}".splitlines())
        log_event(level, self.job_name, self.job_id, event, text, shown=not self._cell.runs, **fields)

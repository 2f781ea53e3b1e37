"""The view of a job in a notebook: lines stand under the cell that started the job, or are kept.

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

from rekindle.logs.events import log_event
from rekindle.logs.formats import iso_time
from rekindle.runtime.master.views.progress import LogView

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
    """Show lines under the cell that started the job, and keep the last ones: of the log, and of what the job prints.

    Args:
        job_name: The job's name.
        cell: The cell.
    """

    def __init__(self, job_name: str, cell: Cell) -> None:
        super().__init__(job_name)
        self._cell = cell
        self._logged: deque[str] = deque(maxlen=KEPT_LINES)
        self._printed: deque[str] = deque(maxlen=KEPT_LINES)

    def recent_lines(self) -> dict[str, list[str]]:
        return {"Log": list(self._logged), "Printed since": list(self._printed)}

    def show(self, text: str, stream: TextIO) -> None:
        if self._cell.runs:
            super().show(text, stream)
        else:
            self._printed.extend(text.splitlines())

    def _log(self, event: str, text: str, level: int = logging.INFO, **fields: Any) -> None:
        self._logged.extend(f"{iso_time(time.time())} {logging.getLevelName(level):<7} {text}".splitlines())
        log_event(level, self.job_name, self.job_id, event, text, shown=not self._cell.runs, **fields)

"""Which view a job has: by what is wanted, and by where the program runs."""

from __future__ import annotations

import sys

from rekindle.logs.setup import logs_to_a_terminal
from rekindle.runtime.master.views.notebook_panel import notebook_panel
from rekindle.runtime.master.views.notebook_view import NotebookView, current_cell
from rekindle.runtime.master.views.progress import LiveView, LogView, ProgressView


def progress_view(wanted: str, job_name: str) -> ProgressView:
    """Choose the view: ``live``, ``log``, ``none``, or ``auto`` by whether somebody watches, and logs nothing there."""
    cell = current_cell()
    if cell is not None and wanted in ("auto", "log"):
        return NotebookView(job_name, cell, notebook_panel(job_name) if wanted == "auto" else None)
    if wanted == "auto":
        wanted = "live" if sys.stderr.isatty() and not logs_to_a_terminal() else "log"
    views: dict[str, type[ProgressView]] = {"live": LiveView, "log": LogView, "none": ProgressView}
    return views[wanted](job_name)

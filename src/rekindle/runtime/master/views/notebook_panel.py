"""The live panel of a job in a notebook: a small table under the cell that started it, brought up to date in place.

IPython finds the panel again by an id, whichever cell runs by then. So it goes on living after ``execute_async`` has
given the prompt back, and lands in no other cell. What goes wrong with showing it does not concern the job.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable
from html import escape
from typing import Any, Protocol

from rekindle.base.html_table import html_table

log = logging.getLogger(__name__)

_PAUSE_SECONDS = 1.0


class Display(Protocol):
    """What IPython gives for something that is shown and may change."""

    def update(self, obj: Any, **options: Any) -> None:
        """Show something else instead."""


class Panel:
    """Show a job.

    Args:
        title: The job's name.
        show: Shows HTML for the first time; gives what can be changed afterwards.
        html: Makes of text what can be shown.
        now: Tells the time, in seconds from any moment.
    """

    def __init__(
        self,
        title: str,
        show: Callable[[Any], Display | None],
        html: Callable[[str], Any],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._title = title
        self._show = show
        self._html = html
        self._now = now
        self._lock = threading.Lock()
        self._rows: dict[str, object] = {}
        self._url: str | None = None
        self._display: Display | None = None
        self._shown_at = float("-inf")
        self._broken = False

    def begin(self) -> None:
        """Show the panel for the first time, under the cell that runs now."""
        self.put(True, State="starting")

    def link_to(self, url: str) -> None:
        """Say where the dashboard is."""
        self._url = url
        self.put(True)

    def put(self, at_once: bool, **rows: object) -> None:
        """Change some rows; what is not urgent is shown once a second at most."""
        with self._lock:
            self._rows.update((name.replace("_", " "), value) for name, value in rows.items())
            due = at_once or self._now() - self._shown_at >= _PAUSE_SECONDS
            if self._broken or not due:
                return
            self._shown_at = self._now()
            content = self._html(self.text())
            try:
                if self._display is None:
                    self._display = self._show(content)
                else:
                    self._display.update(content)
            except Exception as error:
                self._broken = True
                log.info("job %r is not shown in the notebook any more: %s", self._title, error)

    def text(self) -> str:
        """Return the panel as HTML."""
        link = "" if self._url is None else f"<a href='{escape(self._url)}' target='_blank'>Dashboard</a>"
        return html_table(self._title, self._rows) + link


def notebook_panel(title: str) -> Panel | None:
    """Make the panel of a job in the notebook that this program is; None if IPython cannot show one."""
    ipython = sys.modules.get("IPython")
    display = getattr(ipython, "display", None)
    if display is None:
        return None
    return Panel(title, lambda content: display.display(content, display_id=True), display.HTML)

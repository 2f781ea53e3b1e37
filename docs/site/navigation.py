"""An extension of Sphinx: puts the pages in the order that ``navigation`` says, and makes the first one the index.

A page that is not in the list is a warning of Sphinx's, and so is one in it that does not exist.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx


def append_tables_of_contents(app: Sphinx, page: str, content: list[str]) -> None:
    """Append the navigation to the first page, where it is not shown: Sphinx builds the sidebar from it."""
    if page != app.config.root_doc:
        return
    for caption, pages in app.config.navigation.items():
        options = (":hidden:", ":titlesonly:", ":maxdepth: 1", f":caption: {caption}")
        content[0] += "\n".join(("\n```{toctree}", *options, "", *pages, "```\n"))


def copy_first_page(app: Sphinx, error: Exception | None) -> None:
    """Let the site begin with the first page, as servers and browsers look for an index."""
    if error is None and app.builder.format == "html":
        site = Path(app.outdir)
        shutil.copyfile(site / f"{app.config.root_doc}.html", site / "index.html")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_config_value("navigation", {}, "env", dict)
    app.connect("source-read", append_tables_of_contents)
    app.connect("build-finished", copy_first_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

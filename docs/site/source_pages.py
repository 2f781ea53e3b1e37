"""An extension of Sphinx: files of the repository that pages link to, such as examples and tests, become pages.

``[a test](../tests/test_x.py#test_of_something)`` leads to the file in the repository, and on the site to the line of
that function or class.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx.application import Sphinx
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
LINK = re.compile(
    r"(?P<before>\]\(|^\[[^\]]+\]: )(?P<path>[^()\s#:]+)(?:#(?P<name>[^()\s]+))?(?P<after>\)|$)", re.MULTILINE
)
PAGES = (".md", ".png", ".svg")
SCHEME = "source:"
DIRECTORY = "source"


def file_of(app: Sphinx, page: str, path: str) -> str | None:
    """Return the path from the root of the repository to what a page links to, if that is a file without a page."""
    root = Path(app.srcdir).resolve()
    file = (root / page).parent.joinpath(path).resolve()
    if not file.is_file() or file.suffix in PAGES or not file.is_relative_to(root):
        return None
    return str(file.relative_to(root))


def mark_links(app: Sphinx, page: str, content: list[str]) -> None:
    """Give links to files a scheme of their own, which Markdown's parser leaves as it is."""

    def marked(link: re.Match[str]) -> str:
        file = file_of(app, page, link["path"])
        if file is None:
            return link[0]
        name = f"#{link['name']}" if link["name"] else ""
        return f"{link['before']}{SCHEME}{file}{name}{link['after']}"

    content[0] = LINK.sub(marked, content[0])


def resolve_links(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Let marked links lead to the pages of their files."""
    for link in doctree.findall(nodes.reference):
        if not link.get("refuri", "").startswith(SCHEME):
            continue
        file, _, name = link["refuri"].removeprefix(SCHEME).partition("#")
        link["refuri"] = app.builder.get_relative_uri(page, f"{DIRECTORY}/{file}")
        if name:
            link["refuri"] += f"#line-{line_of(app, file, name, link)}"


def line_of(app: Sphinx, file: str, name: str, link: nodes.Node) -> int:
    """Return the line in which a function, a class, or ``Class.method`` is defined."""
    text = (Path(app.srcdir) / file).read_text()
    place = 0
    for part in name.split("."):
        found = re.compile(rf"^[ \t]*(?:async )?(?:def|class) {re.escape(part)}\b", re.MULTILINE).search(text, place)
        if found is None:
            LOGGER.warning("%s defines no %s", file, name, location=link)
            return 1
        place = found.start()
    return text.count("\n", 0, place) + 1


def make_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Return a page for each file that is linked to."""
    pages = [(page, Path(app.env.doc2path(page)).read_text()) for page in app.env.found_docs]
    files = {file_of(app, page, link["path"]) for page, text in pages for link in LINK.finditer(text)}
    for file in sorted(filter(None, files)):
        code = (Path(app.srcdir) / file).read_text()
        highlighted = app.builder.highlighter.highlight_block(code, language_of(file), lineanchors="line")
        context = {"title": file, "body": f"<h1>{escape(file)}</h1>\n{highlighted}"}
        yield f"{DIRECTORY}/{file}", context, "page.html"


def language_of(file: str) -> str:
    """Return Pygments' name of the language that a file is in."""
    try:
        return str(get_lexer_for_filename(file).aliases[0])
    except ClassNotFound:
        return "none"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_lexer("mermaid", TextLexer)  # GitHub draws such blocks; here their text is shown
    app.connect("source-read", mark_links)
    app.connect("doctree-resolved", resolve_links)
    app.connect("html-collect-pages", make_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

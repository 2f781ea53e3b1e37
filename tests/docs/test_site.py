"""The website of the documentation: every page is on it, every link leads somewhere, and it needs no other server."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "build_docs.py"
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*.md")]


class Page(HTMLParser):
    """What a page of the site refers to, and the places in it."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.feed(file.read_text())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self.places |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and "href" in given:
            self.loaded.append(given["href"])
        elif "src" in given:
            self.loaded.append(given["src"])


def build(site: Path, root: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, site, root], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site, which fails where Sphinx warns."""
    directory = tmp_path_factory.mktemp("docs") / "site"
    done = build(directory)
    assert done.returncode == 0, done.stderr
    return directory


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {file: Page(file) for file in site.rglob("*.html")}


def test_every_page_of_the_repository_is_on_the_site(site: Path) -> None:
    assert len(PAGES) > 40
    for page in PAGES:
        assert (site / page.relative_to(ROOT)).with_suffix(".html").exists()
    assert (site / "index.html").read_bytes() == (site / "README.html").read_bytes()


def test_every_link_leads_to_a_file_of_the_site_and_a_place_in_it(pages: dict[Path, Page]) -> None:
    followed, lost = 0, []
    for file, page in pages.items():
        for link in page.links:
            url = urlsplit(link)
            if url.scheme in ("http", "https"):
                continue
            target = (file.parent / unquote(url.path)).resolve() if url.path else file
            place = unquote(url.fragment)
            followed += 1
            if not target.is_file() or (place and target in pages and place not in pages[target].places):
                lost.append(f"{file.name}: {link}")
    assert lost == []
    assert followed > 5_000


def test_a_link_to_a_file_leads_to_its_text_and_one_to_a_test_to_its_line(site: Path, pages: dict[Path, Page]) -> None:
    examples = set(pages[site / "examples" / "README.html"].links)
    for program in (ROOT / "examples").glob("*.py"):
        assert f"../source/examples/{program.name}.html" in examples
    for link in pages[site / "docs" / "guarantees.html"].links:
        if "#line-" in link:
            path, line = re.fullmatch(r"../source/(.*)\.html#line-(\d+)", link).groups()
            assert re.match(r"\s*(async )?def test_", (ROOT / path).read_text().splitlines()[int(line) - 1])


def test_nothing_is_loaded_from_another_server(site: Path, pages: dict[Path, Page]) -> None:
    loaded = [(file, address) for file, page in pages.items() for address in page.loaded]
    assert len(loaded) > 5 * len(pages)
    for file, address in loaded:
        assert (file.parent / urlsplit(address).path).exists(), f"{file.name} loads {address}"
    styles = [style.read_text() for style in site.rglob("*.css")]
    assert len(styles) > 3
    for style in styles:
        assert not re.search(r"(url\(|@import)\s*['\"]?(https?:)?//", style)


def test_the_search_knows_the_words_of_the_pages(site: Path) -> None:
    text = (site / "searchindex.js").read_text()
    index = json.loads(text[text.index("{") : text.rindex("}") + 1])
    found = {index["docnames"][number] for part in ("terms", "titleterms") for number in index[part]["savepoint"]}
    assert {"docs/upgrading", "docs/checkpoints"} <= found


def test_what_leads_nowhere_and_what_is_in_no_list_fails_the_build(tmp_path: Path) -> None:
    root = tmp_path / "repository"
    shutil.copytree(ROOT / "docs" / "site", root / "docs" / "site", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", root)
    with (root / "docs" / "site" / "conf.py").open("a") as settings:
        settings.write('\nnavigation = {"All": ["docs/one", "docs/gone"]}\n')
    (root / "README.md").write_text("# First\n\n[one](docs/one.md#one), [program](program.py#some)\n")
    (root / "program.py").write_text("def some():\n    pass\n")
    (root / "docs" / "one.md").write_text(
        "# One\n\n[a](no-page.md) [b](../README.md#no-heading) [c](../program.py#no_function) [d](../no_program.py)\n"
    )
    (root / "docs" / "two.md").write_text("# Two\n")
    done = build(tmp_path / "site", root)
    assert done.returncode != 0
    warnings = [line.rpartition("WARNING: ")[2] for line in done.stderr.splitlines() if "WARNING: " in line]
    for expected in ("no-page.md", "no-heading", "no_function", "no_program.py", "docs/gone", "any toctree"):
        assert [expected for warning in warnings if expected in warning] == [expected], done.stderr
    assert len(warnings) == 6, done.stderr

"""Makes a website of README.md, docs/ and examples/: static files with a search, for a disk or a server.

Every warning of Sphinx is a failure: a link to a page, a heading or a test that is not there; a page that is missing in
the navigation, which docs/site/conf.py has. A second run reads only the pages that have changed.

Usage: build_docs.py DIRECTORY [ROOT]
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def build(site: Path, root: Path) -> int:
    """Build the site of the repository at a root into a directory; return the exit code."""
    strict = ("--quiet", "--fail-on-warning", "--keep-going")
    where = ("--conf-dir", root / "docs" / "site", "--doctree-dir", site.with_name(f"{site.name}-doctrees"))
    code = subprocess.call([sys.executable, "-m", "sphinx", *strict, *where, root, site])
    if code == 0:
        print(f"The documentation begins at {site / 'index.html'}")
    return code


def main(arguments: list[str]) -> int:
    """Return 0 if the site is there, without any warning."""
    site, *roots = map(Path, arguments)
    [root] = roots or [Path(__file__).resolve().parent.parent]
    return build(site.resolve(), root.resolve())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Settings of Sphinx, which makes a website of the Markdown pages as they are: ``make docs``.

The pages are written to be read in the repository, too. What only the site needs is here: which page comes after which,
and the linked files of the repository, as pages (``source_pages.py``). Nothing in it comes from another server.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

project = "Rekindle"
release = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
extensions = ["myst_parser", "source_pages", "navigation"]

root_doc = "README"
include_patterns = ["*.md", "docs/*.md", "examples/*.md"]
exclude_patterns = [".*", "build", "dist", "src", "tests", "benchmarks", "deploy", "scripts", "conf", "docs/site"]

navigation = {
    "Start": ["examples/README"],
    "Programs": [
        "docs/state",
        "docs/streams",
        "docs/windows",
        "docs/evolution",
        "docs/queryable-state",
        "docs/async-io",
        "docs/iterations",
        "docs/batch",
        "docs/columns",
        "docs/custom-operators",
        "docs/testing",
        "docs/plan",
    ],
    "Input and output": [
        "docs/sources",
        "docs/sinks",
        "docs/kafka",
        "docs/files",
        "docs/spark-tables",
        "docs/databases",
        "docs/cdc",
        "docs/own-connectors",
        "docs/guarantees",
    ],
    "Operation": [
        "docs/cli",
        "docs/configuration",
        "docs/checkpoints",
        "docs/storage",
        "docs/upgrading",
        "docs/high-availability",
        "docs/deploy",
        "docs/logs",
        "docs/dashboard",
        "docs/crash-records",
        "docs/rest",
        "docs/state-processor",
    ],
    "Coming from Spark": ["docs/coming-from-structured-streaming", "docs/why-not-transform-with-state"],
    "Coming from PyFlink": ["docs/pyflink-compatibility", "docs/pyflink-api"],
    "Rekindle itself": ["docs/limits", "docs/performance", "docs/design", "CONTRIBUTING", "CHANGELOG"],
}

myst_heading_anchors = 6  # those of GitHub
myst_url_schemes = ["http", "https", "mailto", "source"]
suppress_warnings = ["myst.header"]  # headings may skip a level
smartquotes = False

html_theme = "furo"
html_title = "Rekindle"
html_static_path = ["static"]
html_css_files = ["wide.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False

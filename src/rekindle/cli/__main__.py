"""``python -m rekindle.cli``: the same as ``rekindle``."""

from __future__ import annotations

from rekindle.cli.app import main

main()

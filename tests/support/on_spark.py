"""Where tests that need Spark may be: ``scripts/run_tests.py`` looks for them nowhere else."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parents[1]
ON_SPARK = {TESTS / directory for directory in ("browser", "chaos", "docs", "integration", "pyflink", "services")}

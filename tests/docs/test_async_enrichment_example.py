"""The example of asynchronous requests runs as it stands: in order, with retries and one time-out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[2] / "examples" / "async_enrichment.py"


def test_every_order_has_its_city_in_the_order_of_the_orders() -> None:
    run = subprocess.run([sys.executable, str(PROGRAM)], capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == [
        "ada in London: 3",
        "eve in an unknown place: 7",
        "bob in Bern: 5",
        "cyd in Cadiz: 2",
        "ada in London: 8",
        "dan in Dublin: 4",
    ]

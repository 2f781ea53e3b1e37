"""What jobs leave in a directory of checkpoints, beside the records for their history."""

from __future__ import annotations

import os
from pathlib import Path

from rekindle.rest.job_record import DIRECTORY


def left_in(checkpoints: str | Path) -> list[str]:
    """Return the names in a directory of checkpoints, but for the history."""
    return sorted(name for name in os.listdir(checkpoints) if name != DIRECTORY)

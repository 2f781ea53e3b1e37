"""What jobs leave in a directory of checkpoints, beside the records for their history and those of crashes."""

from __future__ import annotations

import os
from pathlib import Path

from rekindle.checkpoint.paths import CRASHES
from rekindle.rest.job_record import DIRECTORY


def left_in(checkpoints: str | Path) -> list[str]:
    """Return the names in a directory of checkpoints, but for the history and jobs that left only crash records."""
    names = sorted(name for name in os.listdir(checkpoints) if name != DIRECTORY)
    return [name for name in names if os.listdir(Path(checkpoints, name)) != [CRASHES]]

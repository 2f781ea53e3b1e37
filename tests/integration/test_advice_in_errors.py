"""How the error of a failed job says what to do next."""

from __future__ import annotations

from pathlib import Path

import pytest

from rekindle.common import RestartStrategies
from rekindle.exceptions import JobExecutionError
from rekindle.testing import local_environment


def test_after_a_traceback_it_begins_a_line(tmp_path: Path) -> None:
    settings = {"execution.checkpointing.interval": "1 min", "execution.checkpointing.dir": str(tmp_path)}
    env = local_environment(1, settings)
    env.set_restart_strategy(RestartStrategies.no_restart())
    env.from_collection([1, 0]).map(lambda number: 1 // number).print()
    with pytest.raises(JobExecutionError, match=r"\nZeroDivisionError: .*\n\nNo checkpoint is left to start from"):
        env.execute("dividing")

"""Ends a program at its first ``execute`` when only its plan is wanted, as ``rekindle info`` does."""

from __future__ import annotations

import os

from rekindle.exceptions import ProgramPlanned
from rekindle.graph.plan import HasPlan

PLAN_FILE = "REKINDLE_PLAN_FILE"
"""The variable that names the file for the plan; if it is set, nothing is executed."""


def end_if_only_planned(environment: HasPlan) -> None:
    """Write the plan and end the program, if that is what it is run for."""
    path = os.environ.get(PLAN_FILE)
    if not path:
        return
    plan = environment.get_execution_plan()
    with open(path, "w", encoding="utf-8") as file:
        file.write(plan)
    raise ProgramPlanned(0)

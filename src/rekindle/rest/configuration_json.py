"""The settings of a job in JSON, each with where it was written. Pure."""

from __future__ import annotations

from typing import Any

from rekindle.config.configuration_listing import listed_settings
from rekindle.runtime.master.running_jobs import RegisteredJob


def configuration_json(job: RegisteredJob) -> dict[str, Any]:
    """Return the answer to ``GET /jobs/:id/configuration``."""
    return {
        "settings": [
            {
                "key": setting.key,
                "value": setting.value,
                "origin": str(setting.origin),
                "layer": setting.origin.kind.value,
                "set-as": setting.set_as if setting.is_set else None,
                "group": setting.group,
                "description": setting.description or None,
            }
            for setting in listed_settings(job.settings.configuration)
        ]
    }

"""The settings of a job in JSON, each with where it was written. Pure."""

from __future__ import annotations

from typing import Any

from rekindle.config.configuration_listing import Setting, listed_settings
from rekindle.config.options import PipelineOptions
from rekindle.rest.job_json import shown
from rekindle.runtime.master.running_jobs import RegisteredJob


def configuration_json(job: RegisteredJob) -> dict[str, Any]:
    """Return the answer to ``GET /jobs/:id/configuration``."""
    return {
        "settings": [
            {
                "key": setting.key,
                "value": _value(setting),
                "origin": str(setting.origin),
                "layer": setting.origin.kind.value,
                "set-as": setting.set_as if setting.is_set else None,
                "group": setting.group,
                "description": setting.description or None,
            }
            for setting in listed_settings(job.settings.configuration)
        ]
    }


def _value(setting: Setting) -> str | None:
    """Return the value of a setting; the parameters of a job are settings of their own, some of them secret."""
    if setting.key != PipelineOptions.GLOBAL_JOB_PARAMETERS.key or setting.value is None:
        return setting.value
    pairs = (pair.partition(":") for pair in setting.value.split(","))
    return ",".join(f"{key}{colon}{shown(key, value)}" for key, colon, value in pairs)

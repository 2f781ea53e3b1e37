"""The epochs and attempts of a job in JSON. Flink has neither; the names are in the style of its own. Pure."""

from __future__ import annotations

from typing import Any

from rekindle.runtime.master.running_jobs import RegisteredJob


def epochs(job: RegisteredJob) -> dict[str, Any]:
    """Return the answer to ``GET /jobs/:id/epochs``."""
    progress = job.history.progress()
    recent, step, points = job.history.epochs()
    return {
        "epochs": progress.epochs,
        "records": progress.records_in,
        "records-per-second": progress.records_in_per_second,
        "watermark": progress.watermark,
        "recent": [
            {
                "epoch": each.epoch,
                "attempt": each.attempt,
                "end-time": each.ended,
                "duration": round(each.seconds * 1000),
                "records": each.records,
                "busy-time": round(each.busy_seconds * 1000),
                "watermark": each.watermark,
            }
            for each in reversed(recent)
        ],
        "timeline": {
            "step": step,
            "points": [
                {
                    "time": point.time,
                    "epochs": point.epochs,
                    "records": point.records,
                    "duration": round(point.seconds * 1000),
                    "busy-time": round(point.busy_seconds * 1000),
                }
                for point in points
            ],
        },
    }


def attempts(job: RegisteredJob) -> dict[str, Any]:
    """Return the answer to ``GET /jobs/:id/attempts``."""
    history = job.history
    return {
        "restarts": history.restarts,
        "attempts": [
            {
                "attempt": each.attempt,
                "start-time": each.timestamp,
                "restored-checkpoint": each.restored_checkpoint,
                "slots": [
                    {"subtask": slot, "endpoint": f"{place.host}:{place.pid}"}
                    for slot, place in sorted(each.places.items())
                ],
            }
            for each in history.attempts()
        ],
    }

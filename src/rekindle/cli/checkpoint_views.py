"""Checkpoints as tables: the documents of the REST interface, for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rich.text import Text

from rekindle.cli.formats import NOTHING, duration, moment, number, size
from rekindle.cli.output import console
from rekindle.cli.tables import print_table, status_text

_SUMMARY: tuple[tuple[str, str, Callable[[float | None], str]], ...] = (
    ("Duration", "end_to_end_duration", duration),
    ("Written", "checkpointed_size", size),
    ("Whole state", "state_size", size),
)
_FIGURES = {
    "Min": "min",
    "Average": "avg",
    "50 %": "p50",
    "90 %": "p90",
    "95 %": "p95",
    "99 %": "p99",
    "99.9 %": "p999",
    "Max": "max",
}


def print_overview(name: str, job_id: str, overview: Mapping[str, Any]) -> None:
    """Print counts, summary, latest ones and history."""
    _say(f"Checkpoints of {name} ({job_id})", "bold")
    counts = overview["counts"]
    _say(
        f"{counts['completed']} completed, {counts['failed']} failed, {counts['in_progress']} in progress, "
        f"{counts['restored']} restored"
    )
    if counts["completed"]:
        _say("")
        summary = overview["summary"]
        rows = [
            [label, *(show(_figure(summary[key], figure)) for figure in _FIGURES.values())]
            for label, key, show in _SUMMARY
        ]
        print_table(["", *_FIGURES], rows, right=_FIGURES)
    _print_latest(overview["latest"])
    history = overview["history"]
    if history:
        _say("")
        columns = ["Id", "Kind", "Status", "Triggered", "Duration", "Written", "Whole state", "Acks", "Path or reason"]
        entries = [_history_row(checkpoint) for checkpoint in history]
        print_table(columns, entries, right=["Id", "Duration", "Written", "Whole state", "Acks"])


def _figure(figures: Mapping[str, Any], name: str) -> float | None:
    """Read a figure; where there are no values Flink writes "NaN" for a percentile."""
    value = figures.get(name)
    return float(value) if isinstance(value, (int, float)) and value == value else None


def _print_latest(latest: Mapping[str, Any]) -> None:
    rows: list[list[str | Text]] = []
    for label, key in (("Last completed", "completed"), ("Last savepoint", "savepoint"), ("Last failed", "failed")):
        checkpoint = latest.get(key)
        if checkpoint is not None:
            rows.append([label, str(checkpoint["id"]), moment(checkpoint["trigger_timestamp"]), _brief(checkpoint)])
    restored = latest.get("restored")
    if restored is not None:
        path = str(restored.get("external_path") or NOTHING)
        rows.append(["Restored from", str(restored["id"]), moment(restored["restore_timestamp"]), path])
    if rows:
        _say("")
        print_table(["", "Id", "When", "Path or reason"], rows, right=["Id"])


def _history_row(checkpoint: Mapping[str, Any]) -> list[str | Text]:
    return [
        str(checkpoint["id"]),
        _kind(checkpoint),
        status_text(checkpoint["status"]),
        moment(checkpoint["trigger_timestamp"]),
        duration(checkpoint["end_to_end_duration"]),
        size(checkpoint["checkpointed_size"]),
        size(checkpoint["state_size"]),
        f"{checkpoint['num_acknowledged_subtasks']}/{checkpoint['num_subtasks']}",
        _brief(checkpoint),
    ]


def _kind(checkpoint: Mapping[str, Any]) -> str:
    return "savepoint" if checkpoint["is_savepoint"] else "checkpoint"


def _outcome(checkpoint: Mapping[str, Any]) -> str:
    if checkpoint["status"] == "FAILED":
        return str(checkpoint.get("failure_message") or NOTHING)
    path = str(checkpoint.get("external_path") or NOTHING)
    return f"{path} (deleted)" if checkpoint.get("discarded") else path


def _brief(checkpoint: Mapping[str, Any]) -> str:
    """Return the outcome as one line of a table; the whole reason is shown with the checkpoint itself."""
    return _outcome(checkpoint).partition("\n")[0]


def print_checkpoint(name: str, job_id: str, details: Mapping[str, Any], names: Mapping[str, str]) -> None:
    """Print one checkpoint, with a row for each subtask.

    Args:
        name: The job's name.
        job_id: The job's id.
        details: The details, in which ``tasks`` holds the documents of the subtasks.
        names: The operators' names by vertex id.
    """
    _say(f"{_kind(details).capitalize()} {details['id']} of {name} ({job_id})", "bold")
    facts: list[tuple[str, str | Text]] = [
        ("Status", status_text(details["status"])),
        ("Triggered", moment(details["trigger_timestamp"])),
        ("Duration", duration(details["end_to_end_duration"])),
        ("Written", size(details["checkpointed_size"])),
        ("Whole state", size(details["state_size"])),
        ("Acknowledged", f"{details['num_acknowledged_subtasks']} of {details['num_subtasks']} subtasks"),
        ("Reason" if details["status"] == "FAILED" else "Path", _outcome(details)),
    ]
    for label, value in facts:
        console().print(Text(f"{label}:".ljust(14)) + value)
    rows = [
        row
        for vertex, task in details["tasks"].items()
        for row in _subtask_rows(names.get(vertex, vertex), task, details["trigger_timestamp"])
    ]
    if rows:
        _say("")
        figures = ["Subtask", "Ack after", "Duration", "Sync", "Async", "Alignment", "Delay", "Written", "State"]
        print_table(["Operator", *figures], rows, right=figures)


def _subtask_rows(operator: str, task: Mapping[str, Any], triggered: int) -> list[list[str | Text]]:
    rows: list[list[str | Text]] = []
    for subtask in task.get("subtasks", ()):
        index = number(subtask["index"])
        if subtask["status"] != "completed":
            rows.append([operator, index, Text("missing", style="red"), *[NOTHING] * 7])
            continue
        rows.append(
            [
                operator,
                index,
                duration(subtask["ack_timestamp"] - triggered),
                duration(subtask["end_to_end_duration"]),
                duration(subtask["checkpoint"]["sync"]),
                duration(subtask["checkpoint"]["async"]),
                duration(subtask["alignment"]["duration"]),
                duration(subtask["start_delay"]),
                size(subtask["checkpointed_size"]),
                size(subtask["state_size"]),
            ]
        )
    return rows


def _say(line: str, style: str = "") -> None:
    console().print(Text(line, style=style))

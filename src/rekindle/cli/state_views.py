"""What ``rekindle state`` prints: tables for people, documents for programs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from rekindle.checkpoint import paths
from rekindle.checkpoint.savepoint_listing import SavepointSummary
from rekindle.checkpoint.storage import checkpoint_files
from rekindle.cli import formats
from rekindle.cli.exit_codes import CommandError, ExitCode
from rekindle.cli.output import console as plain_console
from rekindle.cli.progress import progress_bar
from rekindle.exceptions import CheckpointCorruptError, StateRestoreError
from rekindle.state.kinds.state_kind import kind_named
from rekindle.state.plain_values import as_json, as_text
from rekindle.state_processor.description import (
    KeyedStateDescription,
    OperatorDescription,
    SnapshotDescription,
    describe,
)
from rekindle.state_processor.key_search import FoundEntry
from rekindle.state_processor.snapshot import Snapshot
from rekindle.state_processor.state_entries import StateEntries

_CLASS = re.compile(r"(\w+\.[\w.]+)\(.*\)")


def is_snapshot(location: str) -> bool:
    """Return whether a location is a checkpoint itself, rather than a directory of some."""
    location = paths.directory(location)
    return location.endswith("/" + paths.METADATA) or paths.METADATA in checkpoint_files(location).list("")


def opened(location: str) -> Snapshot:
    """Open a snapshot.

    Raises:
        CommandError: There is none.
    """
    try:
        return Snapshot.open(location)
    except CheckpointCorruptError:
        raise
    except StateRestoreError as error:
        raise CommandError(str(error), ExitCode.NOT_FOUND) from None


def described(snapshot: Snapshot, uids: list[str] | None) -> SnapshotDescription:
    """Describe a snapshot, with a bar."""
    with progress_bar("operators", len(snapshot.metadata.operators if uids is None else uids)) as advance:
        return describe(snapshot, uids, advance)


# --- tables ---


def console() -> Console:
    """Return the console for tables: where it is no terminal, lines may be as long as they get."""
    out = plain_console()
    if not out.is_terminal:
        out.width = 250
    return out


def print_listing(listed: Sequence[SavepointSummary], of_a_job: bool) -> None:
    """Print the savepoints of a directory, or the checkpoints of a job's."""
    table = _table("checkpoint" if of_a_job else "savepoint", "kind", "id", "job", "taken", "size")
    for summary in listed:
        if summary.problem is not None:
            table.add_row(summary.location, "damaged", "", "", "", "")
            continue
        kind = "savepoint" if summary.savepoint else "checkpoint"
        job = f"{summary.job_name} ({summary.job_id[:8]})"
        taken, size = formats.moment(summary.timestamp), formats.size(summary.size)
        table.add_row(summary.location, kind, str(summary.checkpoint_id), job, taken, size)
    out = console()
    out.print(table)
    whole = [summary.location for summary in listed if summary.problem is None]
    if of_a_job and whole:
        out.print(f"To inspect the newest: rekindle state {whole[0]}", markup=False)


def print_overview(description: SnapshotDescription) -> None:
    """Print all operators and their states."""
    _print_head(description)
    table = _table("operator (uid)", "state", "kind", "key type", "type", "entries", "size")
    for operator in description.operators:
        name = f"{operator.name} ({operator.uid})"
        rows = [tuple(map(_without_fields, row)) for row in _state_rows(operator)]
        for row in rows or [("", "no state", "", "", "", "")]:
            table.add_row(name, *row)
            name = ""
    console().print(table)
    _print_positions(description)


def print_operator(description: SnapshotDescription, uid: str) -> None:
    """Print one operator in detail."""
    _print_head(description)
    operator = description.operator(uid)
    out = console()
    out.print(f"operator {operator.name} (uid {operator.uid})", markup=False)
    out.print(f"  parallelism {operator.parallelism}, max parallelism {operator.max_parallelism}")
    out.print(f"  {formats.size(operator.size)} of state")
    table = _table("state", "kind", "key type", "type", "entries", "size")
    for row in _state_rows(operator):
        table.add_row(*row)
    out.print(table)
    for state in operator.keyed_states:
        for note in state.notes:
            out.print(f"note on {state.name}: {note}", markup=False)
    _print_positions(description, uid)


def print_entries(entries: StateEntries, shown: Sequence[dict[str, Any]], more: int) -> None:
    """Print entries of a state."""
    columns = list(dict.fromkeys(name for row in shown for name in row)) or ["key", "value"]
    table = _table(*columns)
    for row in shown:
        table.add_row(*(as_text(row[name]) if name in row else "" for name in columns))
    out = console()
    out.print(f"state {entries.state} of operator {entries.uid}", markup=False)
    out.print(table)
    if more:
        out.print(f"and {more} more; --limit 0 shows all")


def print_found(key: str, found: Iterable[Any]) -> None:
    """Print what was found for a key."""
    table = _table("operator (uid)", "state", "namespace", "value", "last access")
    for item in found:
        if isinstance(item, FoundEntry):
            entry = item.entry
            namespace = "" if entry.namespace is None else as_text(entry.namespace)
            accessed = "" if entry.last_access is None else as_text(entry.last_access)
            table.add_row(item.uid, item.state, namespace, as_text(entry.value), accessed)
        else:
            namespace = "" if item.timer.namespace is None else as_text(item.timer.namespace)
            table.add_row(item.uid, f"{item.timer.domain}-time timer", namespace, str(item.timer.timestamp), "")
    out = console()
    out.print(f"key {key}", markup=False)
    out.print(table)


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        justify: Any = "right" if column in ("entries", "size", "id") else "left"
        table.add_column(column, justify=justify, overflow="fold")
    return table


def _print_head(description: SnapshotDescription) -> None:
    kind = "savepoint" if description.savepoint else "checkpoint"
    out = console()
    out.print(
        f"{kind} {description.checkpoint_id} of job {description.job_name!r} ({description.job_id})", markup=False
    )
    out.print(
        f"  taken {formats.moment(description.timestamp)}, {description.format}, {formats.size(description.size)}"
    )
    out.print(f"  {description.location}", markup=False)


def _print_positions(description: SnapshotDescription, uid: str | None = None) -> None:
    for position in description.positions:
        if uid in (None, position.uid):
            where = "was read to its end" if position.consumed else "; ".join(position.offsets)
            console().print(f"source {position.uid}: {where or 'at its beginning'}", markup=False)


def _state_rows(operator: OperatorDescription) -> Iterable[tuple[str, str, str, str, str, str]]:
    for state in operator.keyed_states:
        size = "" if state.size is None else formats.size(state.size)
        entries = str(state.keys) if state.exact else f"~{state.keys}"
        if state.kind and kind_named(state.kind).shape.several:  # of a state without entries, the kind is not known
            entries += " keys"
        yield state.name, _kind(state), state.key_type, _value_type(state), entries, size
    for timers in operator.timers:
        kind = f"{timers.domain}-time timers"
        yield (
            timers.service,
            kind,
            timers.key_type,
            timers.namespace_type,
            str(timers.entries),
            formats.size(timers.size),
        )
    for listed in operator.operator_states:
        items = str(sum(listed.items))
        kind = "broadcast" if listed.mode == "broadcast" else f"{listed.mode} list"
        yield listed.name, kind, listed.map_key_type, listed.value_type, items, formats.size(listed.size)
    if operator.raw is not None:
        yield "", "raw", "", "", str(operator.raw.key_groups), formats.size(operator.raw.size)


def _kind(state: KeyedStateDescription) -> str:
    return f"{state.kind}, expires" if state.ttl else state.kind or "empty"


def _value_type(state: KeyedStateDescription) -> str:
    text = f"{state.map_key_type} → {state.value_type}" if state.map_key_type else state.value_type
    return f"{text}, per {state.namespace_type}" if state.namespace_type else text


def _without_fields(text: str) -> str:
    """Name a class without its fields."""
    return _CLASS.sub(r"\1", text)


# --- documents ---


def listing_document(listed: Sequence[SavepointSummary]) -> Any:
    """Return the savepoints of a directory."""
    return {"savepoints": [asdict(summary) for summary in listed]}


def entries_document(entries: StateEntries, shown: Sequence[dict[str, Any]], more: int) -> Any:
    """Return entries of a state."""
    rows = [{name.replace(" ", "_"): as_json(value) for name, value in row.items()} for row in shown]
    return {"operator": entries.uid, "state": entries.state, "entries": rows, "more": more}


def found_document(key: str, found: Iterable[Any]) -> Any:
    """Return what was found for a key."""
    states, timers = [], []
    for item in found:
        if isinstance(item, FoundEntry):
            entry = item.entry
            row = {"operator": item.uid, "state": item.state, "key": as_json(entry.key), "value": as_json(entry.value)}
            if entry.namespace is not None:
                row["namespace"] = as_json(entry.namespace)
            if entry.last_access is not None:
                row["last_access"] = as_json(entry.last_access)
            states.append(row)
        else:
            timer = item.timer
            row = {"operator": item.uid, "domain": timer.domain, "timestamp": timer.timestamp}
            timers.append(row if timer.namespace is None else {**row, "namespace": as_json(timer.namespace)})
    return {"key": key, "states": states, "timers": timers}

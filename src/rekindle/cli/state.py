"""``rekindle state``: look into a checkpoint or savepoint. Neither Spark nor the program that wrote it is needed."""

from __future__ import annotations

import itertools
from typing import Annotated, Any

import typer

from rekindle.checkpoint import paths
from rekindle.cli.exit_codes import CommandError, ExitCode
from rekindle.cli.output import Json, print_json
from rekindle.cli.paths import not_empty
from rekindle.cli.progress import progress_bar
from rekindle.exceptions import StateNotFoundError


def state(
    savepoint: Annotated[
        str,
        typer.Argument(
            metavar="SAVEPOINT",
            help="The directory of a savepoint or checkpoint, its _metadata file, or a directory with several: "
            "they are listed. With -o, -s or -k the newest checkpoint of a job's directory is taken.",
            show_default=False,
        ),
    ],
    operator: Annotated[
        str | None, typer.Option("--operator", "-o", metavar="UID", help="Show only this operator, in detail.")
    ] = None,
    state: Annotated[
        str | None, typer.Option("--state", "-s", metavar="NAME", help="Show the entries of this state.")
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", "-k", metavar="K", help="Show what is kept for this key. Write a tuple as JSON: [1, 2]."),
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", help="How many entries of a state to show; 0: all.", min=0)] = 20,
    json: Json = False,
) -> None:
    """Look into a snapshot: operators, states, types, sizes, entries.

    Pickled state is unpickled to be shown: look only into snapshots that you
    would restore.

    \b
    Examples:
      rekindle state /data/savepoints
      rekindle state /data/savepoints/savepoint-5f1c2b-0a1b2c3d4e5f -o totals
      rekindle state /data/checkpoints/JOB
      rekindle state /data/checkpoints/JOB -s count -k ann --json
    """
    from rekindle.checkpoint.savepoint_listing import list_savepoints
    from rekindle.cli import state_views

    not_empty(savepoint, "given as SAVEPOINT")
    asked = operator is not None or state is not None or key is not None
    listed = [] if state_views.is_snapshot(savepoint) else list_savepoints(savepoint)
    of_a_job = all(paths.checkpoint_id_of(summary.location) is not None for summary in listed)
    if (listed and not of_a_job) or (len(listed) > 1 and not asked):
        if asked:
            raise CommandError(
                f"{savepoint} has several savepoints in it; give the directory of one: "
                + ", ".join(summary.location for summary in listed),
                ExitCode.USAGE,
            )
        return print_json(state_views.listing_document(listed)) if json else state_views.print_listing(listed, of_a_job)
    snapshot = state_views.opened(savepoint)
    try:
        if key is not None:
            return _show_key(snapshot, operator, state, key, json)
        if state is not None:
            return _show_entries(snapshot, operator, state, limit, json)
        description = state_views.described(snapshot, None if operator is None else [operator])
    except StateNotFoundError as error:
        raise CommandError(str(error), ExitCode.NOT_FOUND) from None
    if json:
        return print_json(description.as_dict())
    if operator is None:
        return state_views.print_overview(description)
    return state_views.print_operator(description, operator)


def _show_key(snapshot: Any, operator: str | None, state: str | None, key: str, json: bool) -> None:
    from rekindle.cli import state_views
    from rekindle.state_processor.contents import contents_of
    from rekindle.state_processor.key_search import find_key

    if operator is not None:
        uids = [snapshot.operator(operator).uid]
    else:
        uids = [known.uid for known in snapshot.metadata.operators if state is None or state in known.keyed_states]
    found: list[Any] = []
    with contents_of(snapshot) as contents, progress_bar("operators", len(uids)) as advance:
        for uid in uids:
            found += find_key(contents, uid, key, state)
            advance()
    if not found:
        where = "" if operator is None else f" of operator {operator!r}"
        where = f"state {state!r}{where}" if state is not None else f"any state{where}"
        raise CommandError(f"there is no key {key} in {where} in {snapshot.stored.describe()}", ExitCode.NOT_FOUND)
    if json:
        print_json(state_views.found_document(key, found))
    else:
        state_views.print_found(key, found)


def _show_entries(snapshot: Any, operator: str | None, state: str, limit: int, json: bool) -> None:
    from rekindle.cli import state_views
    from rekindle.state_processor.contents import contents_of
    from rekindle.state_processor.state_entries import StateEntries

    with contents_of(snapshot) as contents:
        entries = StateEntries.find(contents, operator, state)
        rows = entries.rows()
        with progress_bar("entries", limit or None) as advance:
            shown = []
            for row in itertools.islice(rows, limit or None):
                shown.append(row)
                advance()
        more = 0
        if limit and len(shown) == limit:
            with progress_bar("counting") as advance:
                for _ in rows:
                    more += 1
                    advance()
    if json:
        print_json(state_views.entries_document(entries, shown, more))
    else:
        state_views.print_entries(entries, shown, more)

"""Queries of running jobs: every kind of state, backend and consistency."""

from __future__ import annotations

from functools import partial

import pytest

from rekindle.queryable_state import UnknownKeyError
from support.queryable_jobs import KINDS, expected, keeps_all, running, settings

pytestmark = pytest.mark.usefixtures("local_cluster")


@pytest.mark.parametrize("typed", [True, False], ids=["typed", "untyped"])
@pytest.mark.parametrize("rocksdb", [False, True], ids=["heap", "rocksdb"])
def test_a_live_query_of_every_kind_of_state_shows_what_the_operator_sees(rocksdb: bool, typed: bool) -> None:
    with running(partial(keeps_all, typed=typed), settings(rocksdb)) as job:
        job.feed.put(("a", 1), ("b", 7), ("a", 5), ("a", 3))
        for kind in KINDS:
            job.shows(kind, "a", expected(kind, [1, 5, 3]), typed=typed)
            job.shows(kind, "b", expected(kind, [7]), typed=typed)
            with pytest.raises(UnknownKeyError, match="holds nothing for key 'c'"):
                job.ask(kind, "c", typed=typed)
        job.feed.put(("a", None), ("b", 2))
        for kind in KINDS:
            job.shows(kind, "b", expected(kind, [7, 2]), typed=typed)
            with pytest.raises(UnknownKeyError):
                job.ask(kind, "a", typed=typed)


@pytest.mark.parametrize("rocksdb", [False, True], ids=["heap", "rocksdb"])
@pytest.mark.parametrize("incremental", [False, True], ids=["full", "incremental"])
def test_a_checkpointed_query_of_every_kind_of_state_shows_what_the_last_checkpoint_holds(
    rocksdb: bool, incremental: bool, tmp_path: object
) -> None:
    configuration = settings(
        rocksdb, **{"state.checkpoints.dir": f"file://{tmp_path}", "state.backend.incremental": str(incremental)}
    )
    with running(keeps_all, configuration, checkpoint_ms=50) as job:
        job.feed.put(("a", 1), ("b", 7))
        for kind in KINDS:
            job.shows(kind, "a", expected(kind, [1]), "checkpointed")
        job.feed.put(("a", 5), ("a", 3), ("b", None))
        for kind in KINDS:
            job.shows(kind, "a", expected(kind, [1, 5, 3]), "checkpointed")
            with pytest.raises(UnknownKeyError):
                job.ask(kind, "b", "checkpointed")

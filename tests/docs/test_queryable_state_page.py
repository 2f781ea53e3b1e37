"""docs/queryable-state.md against the code."""

from __future__ import annotations

import re
from pathlib import Path

from rekindle.config.options import QueryableStateOptions
from rekindle.exceptions import QueryableStateError
from rekindle.runtime.queries import network_thread, plain_data, query_port
from rekindle.runtime.queries import protocol as p
from rekindle.runtime.slot.queries import checkpointed_reads, live_reads

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "queryable-state.md").read_text()
CONFIGURATION = (DOCS / "configuration.md").read_text()
FLOWING = " ".join(PAGE.split())


def test_every_error_is_explained() -> None:
    listed = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    kinds = {kind.__name__ for kind in QueryableStateError.__subclasses__()}
    assert listed == kinds - {"ImmutableStateError"}
    assert "`ImmutableStateError`" in PAGE


def test_every_code_form_and_consistency_is_named() -> None:
    for name in (*p.Code, *p.Form, *p.Consistency):
        assert f"`{name}`" in PAGE
    for code in plain_data._UNPACKERS:
        assert f"({code})" in PAGE


def test_the_limits_are_those_of_the_code() -> None:
    assert p.MAX_REQUEST == 1 << 20
    assert p.MAX_ANSWER == 64 << 20
    assert f"{network_thread.UNDER_WAY} requests may be under way, each of 1 MiB and {p.MAX_KEYS:,} keys" in FLOWING
    assert f"answers of 64 MiB; {query_port._PEERS} peers may be connected" in FLOWING
    assert f"more than {query_port._SECONDS:g} s for a request" in FLOWING
    assert live_reads.SHARE == 8
    assert "at most an eighth of the time that each chunk takes" in FLOWING
    assert f"(or {live_reads._LEAST_SECONDS * 1000:g} ms, if that is more)" in FLOWING
    assert checkpointed_reads._MOST_ENTRIES == 1_000_000
    assert f"Version {p.VERSION};" in PAGE


def test_every_key_has_its_row() -> None:
    for option in vars(QueryableStateOptions).values():
        key = getattr(option, "key", None)
        if isinstance(key, str):
            assert f"`{key}`" in CONFIGURATION, key

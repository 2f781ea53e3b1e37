"""What a savepoint is asked to hold, before anything is written."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rekindle.common import Types
from rekindle.datastream.state import ListStateDescriptor, ValueStateDescriptor
from rekindle.runtime.spark import session as session_module
from rekindle.state_processor import SavepointWriter, keyed_state, list_state

FRAME: Any = SimpleNamespace(columns=["key", "value"])


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch) -> SavepointWriter:
    monkeypatch.setattr(session_module, "prepare_session", lambda session: None)
    session: Any = None
    return SavepointWriter.new_savepoint(session, 8, 2)


def test_a_state_that_is_given_again_takes_the_place_of_the_first(writer: SavepointWriter) -> None:
    count = keyed_state(FRAME, ValueStateDescriptor("count", Types.LONG()))
    first, second = (list_state(FRAME, ListStateDescriptor("items", Types.LONG())) for _ in range(2))
    writer.with_operator("op", first, count)
    writer.with_state("op", second)
    assert [id(given) for given in writer._operators["op"].transformations] == [id(count), id(second)]
    writer.with_state("op", first).with_state("op", second)
    assert [id(given) for given in writer._operators["op"].transformations] == [id(count), id(second)]

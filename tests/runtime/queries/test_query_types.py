"""Keys and values travel by their types or as plain data; nothing is pickled or unpickled on the way."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from rekindle.common import Types
from rekindle.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from rekindle.exceptions import SerializationError, WrongStateTypeError
from rekindle.runtime.queries.plain_data import PLAIN
from rekindle.runtime.queries.query_types import UNDECLARED, PartType, QueryTypes, decode_key
from rekindle.serialization.encodings import pickle_serializer
from rekindle.serialization.encodings.pickle_serializer import PickleSerializer
from rekindle.serialization.serializer_of import serializer_of
from rekindle.state.kinds.state_kind import kind_of
from support.serializer_catalogue import CATALOGUE, Case, same


@pytest.mark.parametrize("case", CATALOGUE, ids=lambda case: case.name)
@examples(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_the_type_nothing_is_pickled_on_the_way(
    case: Case, data: st.DataObject, monkeypatch: pytest.MonkeyPatch
) -> None:
    element = data.draw(case.elements)
    part = PartType.of(case.serializer)
    with monkeypatch.context() as patched:
        for name in ("to_bytes", "from_bytes", "all_to_bytes", "all_from_bytes", "serialize", "deserialize"):
            patched.setattr(pickle_serializer.PickleSerializer, name, refused)
        patched.setattr(pickle, "loads", refused)
        try:
            written = part.serializer.to_bytes(element)
        except (SerializationError, AttributeError, TypeError):
            assert part is UNDECLARED or "pickled" in case.name.lower() or "hint" in case.name
            return
        assert same(part.serializer.from_bytes(written), element) or part is not UNDECLARED


def refused(*arguments: Any) -> Any:
    raise AssertionError("something was pickled")


class Evil:
    """Leave a trace where it is unpickled."""

    def __reduce__(self) -> Any:
        return refused, ()


@pytest.mark.parametrize("declared", [None, Types.STRING(), Types.LIST(Types.PICKLED_BYTE_ARRAY())])
def test_a_pickle_that_comes_as_a_key_is_no_key(declared: Any) -> None:
    serializer = PickleSerializer() if declared is None else serializer_of(declared)
    for data in (pickle.dumps(Evil()), b"\1" + pickle.dumps(Evil()), b"\0" + pickle.dumps(Evil())):
        with pytest.raises(WrongStateTypeError):
            decode_key(PartType.of(serializer), data)


def types_of(descriptor: Any) -> QueryTypes:
    kind = kind_of(descriptor)
    return QueryTypes.of(kind, kind.serializers(descriptor, serializer_of(Types.STRING())))


def test_types_have_fingerprints_and_what_pickles_has_none() -> None:
    value, other = types_of(ValueStateDescriptor("a", Types.LONG())), types_of(ValueStateDescriptor("b", Types.LONG()))
    assert value.state_type == other.state_type != b""
    assert types_of(ValueStateDescriptor("a", Types.INT())).state_type != value.state_type
    assert types_of(ValueStateDescriptor("a")).state_type == b""
    assert types_of(ListStateDescriptor("a", Types.ROW([Types.PICKLED_BYTE_ARRAY()]))).state_type == b""
    assert types_of(MapStateDescriptor("a", Types.LONG(), None)).state_type == b""
    longs, texts = Types.LONG(), Types.STRING()
    assert (
        types_of(MapStateDescriptor("a", longs, texts)).state_type
        != types_of(MapStateDescriptor("a", texts, longs)).state_type
    )


@pytest.mark.parametrize("typed", [True, False])
def test_maps_keep_values_that_are_none(typed: bool) -> None:
    types = types_of(MapStateDescriptor("a", Types.LONG(), Types.STRING()) if typed else MapStateDescriptor("a"))
    assert types.decode(types.encode({1: None, 2: "b", 3: None})) == {1: None, 2: "b", 3: None}
    assert (types.value.serializer is PLAIN) is not typed

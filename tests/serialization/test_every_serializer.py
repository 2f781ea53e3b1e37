"""What every serializer does: give back what it was given, be remembered by its snapshot, and be a value itself."""

from __future__ import annotations

import pickle
from typing import Any

import cloudpickle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rekindle.serialization.snapshots.stored_snapshot import snapshot_from_bytes, snapshot_to_bytes
from rekindle.types.data_views import DataInputView, DataOutputView
from support.seeds import rounds
from support.serializer_catalogue import CATALOGUE, Case, same

every_serializer = pytest.mark.parametrize("case", CATALOGUE, ids=str)


@every_serializer
@settings(max_examples=rounds(8, named=15))
@given(data=st.data())
def test_elements_come_back_as_they_were(case: Case, data: st.DataObject) -> None:
    element = data.draw(case.elements)
    serializer = case.serializer
    assert same(serializer.from_bytes(serializer.to_bytes(element)), element)
    assert same(serializer.from_bytes(memoryview(serializer.to_bytes(element))), element)
    assert same(serializer.copy(element), element)


@every_serializer
@settings(max_examples=rounds(8, named=15))
@given(data=st.data())
def test_many_elements_come_back_as_they_were(case: Case, data: st.DataObject) -> None:
    elements: list[Any] = data.draw(st.lists(case.elements, max_size=6))
    serializer = case.serializer
    assert same(serializer.all_from_bytes(serializer.all_to_bytes(elements)), elements)
    assert same(serializer.all_from_bytes(serializer.all_to_bytes(tuple(elements))), elements)
    assert same(serializer.converted(list(elements)), elements)


@every_serializer
@settings(max_examples=rounds(5, named=8))
@given(data=st.data())
def test_elements_follow_each_other_in_a_stream(case: Case, data: st.DataObject) -> None:
    elements: list[Any] = data.draw(st.lists(case.elements, min_size=1, max_size=4))
    output = DataOutputView()
    for element in elements:
        case.serializer.serialize(element, output)
    source = DataInputView(output.getvalue())
    assert same([case.serializer.deserialize(source) for _ in elements], elements)
    assert source.read() == b""


@every_serializer
def test_a_stored_snapshot_restores_an_equal_serializer(case: Case) -> None:
    snapshot = case.serializer.snapshot_configuration()
    read = snapshot_from_bytes(snapshot_to_bytes(snapshot))
    assert type(read) is type(snapshot)
    assert read.restore_serializer() == case.serializer
    assert read.describe() == snapshot.describe()
    assert snapshot_to_bytes(read) == snapshot_to_bytes(snapshot)
    assert case.serializer.snapshot_configuration().resolve_schema_compatibility(read).is_compatible_as_is()


@every_serializer
@settings(max_examples=5)
@given(data=st.data())
def test_a_restored_serializer_reads_what_was_written(case: Case, data: st.DataObject) -> None:
    element = data.draw(case.elements)
    stored = snapshot_to_bytes(case.serializer.snapshot_configuration())
    restored = snapshot_from_bytes(stored).restore_serializer()
    assert same(restored.from_bytes(case.serializer.to_bytes(element)), element)


@every_serializer
def test_serializers_are_values(case: Case) -> None:
    for copy in (
        pickle.loads(pickle.dumps(case.serializer)),
        cloudpickle.loads(cloudpickle.dumps(case.serializer)),
        case.serializer.duplicate(),
    ):
        assert copy == case.serializer
        assert hash(copy) == hash(case.serializer)
        assert repr(copy) == repr(case.serializer)


def test_serializers_of_different_types_differ() -> None:
    names = {"ExternalTypeInfo": "the same as INT"}
    cases = [case for case in CATALOGUE if case.name not in names]
    assert len({case.serializer for case in cases}) == len(cases)


def test_a_type_becomes_no_other_type() -> None:
    distinct = [case for case in CATALOGUE if case.name not in ("ExternalTypeInfo", "inferred-key-PICKLED")]
    for old in distinct:
        for new in distinct:
            if old is new:
                continue
            before, now = old.serializer.snapshot_configuration(), new.serializer.snapshot_configuration()
            result = now.resolve_schema_compatibility(before)
            assert result.is_incompatible(), (old.name, new.name)
            assert result.reasons

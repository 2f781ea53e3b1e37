"""Damaged bytes: a serializer, or a snapshot of one, that reads them says so in its own words, whatever they are."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import ModuleType
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rekindle.exceptions import SerializationError, SerializerSnapshotError
from rekindle.serialization.classes import class_names
from rekindle.serialization.encodings.pickle_serializer import PickleSerializer
from rekindle.serialization.snapshots import stored_snapshot
from rekindle.serialization.snapshots.stored_snapshot import snapshot_from_bytes, snapshot_to_bytes
from rekindle.types.data_views import DataInputView, DataOutputView
from support.seeds import rounds
from support.serializer_catalogue import CATALOGUE, MSGPACK_CASES, Case

readers_of_bytes = pytest.mark.parametrize("case", MSGPACK_CASES, ids=str)
every_serializer = pytest.mark.parametrize("case", CATALOGUE, ids=str)
_fuzzing = settings(max_examples=rounds(8, named=15), suppress_health_check=[HealthCheck.too_slow])

# Headers of msgpack that promise more than there is: arrays, maps, strings and bytes of 4 GiB, deep nesting.
_PROMISES = [b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xdb\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff"]
_DEEP = b"\x91" * 100_000


def _damaged(draw: Callable[..., Any], data: bytes) -> bytes:
    """Change, cut, or double a part of some bytes."""
    damaged = bytearray(data)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(damaged)))
        kind = draw(st.integers(0, 3))
        if kind == 0 and at < len(damaged):
            damaged[at] = draw(st.integers(0, 255))
        elif kind == 1:
            del damaged[at:]
        elif kind == 2:
            damaged[at:at] = draw(st.binary(min_size=1, max_size=4) | st.sampled_from(_PROMISES))
        else:
            damaged[at:at] = damaged[max(0, at - 4) : at]
    return bytes(damaged)


def _read_in_all_ways(case: Case, data: bytes) -> None:
    serializer = case.serializer
    for read in (
        lambda: serializer.from_bytes(data),
        lambda: serializer.all_from_bytes(data),
        lambda: serializer.deserialize(DataInputView(data)),
        lambda: serializer.deserialize(DataInputView(len(data).to_bytes(4, "big") + data)),
    ):
        with contextlib.suppress(SerializationError):
            read()


@readers_of_bytes
@_fuzzing
@given(data=st.binary(max_size=40))
@example(data=_DEEP)
@example(data=b"\x91" + _PROMISES[0])
def test_any_bytes_are_an_element_or_refused(case: Case, data: bytes) -> None:
    for given_bytes in (data, *_PROMISES):
        _read_in_all_ways(case, given_bytes)


@readers_of_bytes
@_fuzzing
@given(data=st.data())
def test_damaged_elements_are_elements_or_refused(case: Case, data: st.DataObject) -> None:
    element = data.draw(case.elements)
    many = data.draw(st.booleans())
    written = case.serializer.all_to_bytes([element, element]) if many else case.serializer.to_bytes(element)
    _read_in_all_ways(case, _damaged(data.draw, written))


@readers_of_bytes
def test_msgpack_of_another_type_is_an_element_or_refused(case: Case) -> None:
    for packed in (None, True, 1, -1, 2**64 - 1, 1.5, "x", b"x", [], [[]], {}, {"a": 1}, [None] * 3):
        _read_in_all_ways(case, msgspec.msgpack.encode(packed))
        _read_in_all_ways(case, msgspec.msgpack.encode([packed, packed]))


def test_an_element_that_ends_too_early_is_refused_with_the_type() -> None:
    case = next(case for case in CATALOGUE if case.name == "LIST-LONG")
    data = case.serializer.to_bytes([1, 2, 3])
    with pytest.raises(SerializationError, match=r"bytes cannot be read as LIST\(LONG\)"):
        case.serializer.from_bytes(data[:-1])


@pytest.mark.parametrize("data", [b"", b"\x80", b"garbage", b"\x80\x05."])
def test_a_damaged_pickle_is_refused(data: bytes) -> None:
    for read in (PickleSerializer().from_bytes, PickleSerializer().all_from_bytes):
        with pytest.raises(SerializationError, match="pickle"):
            read(data)


class _NoNewModules:
    """Stand for importlib, so that a damaged name does not import whatever module it happens to name."""

    @staticmethod
    def import_module(name: str) -> ModuleType:
        if name.startswith("."):
            raise TypeError("the 'package' argument is required to perform a relative import")
        raise ModuleNotFoundError(name)


def _read_snapshot(data: bytes) -> None:
    with (
        patch.object(stored_snapshot, "importlib", _NoNewModules),
        patch.object(class_names, "importlib", _NoNewModules),
        contextlib.suppress(SerializerSnapshotError),
    ):
        snapshot = snapshot_from_bytes(data)
        snapshot.describe()
        with contextlib.suppress(SerializationError):
            snapshot.restore_serializer()


@settings(max_examples=rounds(80, named=200))
@given(data=st.binary(max_size=60))
def test_any_bytes_are_a_snapshot_or_refused(data: bytes) -> None:
    for given_bytes in (data, b"RKSS\x01" + data):
        _read_snapshot(given_bytes)


@every_serializer
@_fuzzing
@given(data=st.data())
def test_damaged_snapshots_are_snapshots_or_refused(case: Case, data: st.DataObject) -> None:
    written = snapshot_to_bytes(case.serializer.snapshot_configuration())
    _read_snapshot(_damaged(data.draw, written))


def test_a_snapshot_that_is_nested_too_deep_is_refused() -> None:
    name = "rekindle.serialization.composites.collection_serializers:ListSerializerSnapshot"
    data = b""
    for _ in range(2_000):
        output = DataOutputView()
        output.write_utf(name)
        output.write_int(1)
        body = DataOutputView()
        body.write_int(1)
        body.write_sized(b"")
        body.write_int(1)
        body.write(data)
        output.write_sized(body.getvalue())
        data = output.getvalue()
    with pytest.raises(SerializerSnapshotError):
        snapshot_from_bytes(b"RKSS\x01" + data)

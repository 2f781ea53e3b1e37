"""State that names a class by the module in which it used to be can be read."""

from __future__ import annotations

import pickle

from rekindle.contracts.windowing.windows import TimeWindow
from rekindle.serialization.encodings.pickle_serializer import PickleSerializer
from rekindle.serialization.encodings.stand_ins import loads_with_stand_ins
from rekindle.serialization.snapshots.moved_modules import current_module, loads_moved
from rekindle.serialization.snapshots.snapshot_aliases import current_name
from rekindle.state.rocksdb.key_decoding import decode_at
from rekindle.state.rocksdb.key_encoding import encode

OLD, NEW = b"rekindle.datastream.windowing.windows", b"rekindle.contracts.windowing.windows"


def as_it_was_written(data: bytes) -> bytes:
    """Name the old module; pickle writes the length of the name before it."""
    assert NEW in data
    return data.replace(bytes([len(NEW)]) + NEW, bytes([len(OLD)]) + OLD)


def test_a_pickle_names_the_old_module() -> None:
    window = TimeWindow(0, 5)
    old = as_it_was_written(pickle.dumps(window, 4))
    for read in (PickleSerializer().from_bytes, loads_moved, loads_with_stand_ins):
        assert read(old) == window


def test_a_snapshot_of_a_serializer_names_the_old_module() -> None:
    assert current_module("rekindle.serialization.row_serializer") == "rekindle.serialization.composites.row_serializer"
    assert current_name("rekindle.serialization.avro_serializer:AvroSerializerSnapshot") == (
        "rekindle.serialization.avro.avro_serializer:AvroSerializerSnapshot"
    )
    assert current_name("mine:Snapshot") == "mine:Snapshot"


def test_a_key_in_rocksdb_is_read_back_whatever_its_module_was_called() -> None:
    window = TimeWindow(0, 5)
    data, _ = encode(window)
    assert decode_at(data, 0)[0] == window

"""Values as bytes."""

import pickle

import pytest

from rekindle.common import Types
from rekindle.serialization.serializer_of import serializer_of
from rekindle.state.rocksdb.codec import Codec, last_access_of, split_value
from rekindle.state.state_serializers import PICKLED, StateSerializers

VALUES = [1, None, "x", [1, 2], {"a": (1,)}, b"\x01"]
LONGS = StateSerializers(*map(serializer_of, (Types.STRING(), Types.LONG(), Types.STRING(), Types.LONG())))


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_comes_back(value):
    codec = Codec(False, PICKLED)
    assert codec.decode(codec.encode(value)) == value
    assert codec.decode(codec.encode_with_key("key", value)) == value


@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize("last_access", [0, 1_700_000_000_000, -5])
def test_a_value_comes_back_with_its_last_access(value, last_access):
    codec = Codec(True, PICKLED)
    for data in (codec.encode((value, last_access)), codec.encode_with_key("key", (value, last_access))):
        assert codec.decode(data) == (value, last_access)
        assert last_access_of(data) == last_access


def test_time_to_live_costs_eight_bytes():
    with_ttl = Codec(True, PICKLED).encode(("value", 1_700_000_000_000))
    assert len(with_ttl) == len(Codec(False, PICKLED).encode("value")) + 8


def test_a_value_is_what_its_serializer_makes_of_it_and_a_byte():
    assert Codec(False, PICKLED).encode("value") == b"\0" + pickle.dumps("value", 5)
    assert Codec(False, LONGS).encode(5) == b"\0" + LONGS.value.to_bytes(5)


@pytest.mark.parametrize("ttl", [False, True])
@pytest.mark.parametrize("namespaced", [False, True])
@pytest.mark.parametrize("has_map_keys", [False, True])
@pytest.mark.parametrize("value", [7, None])
def test_the_key_is_found_if_there_is_one(ttl, namespaced, has_map_keys, value):
    codec = Codec(ttl, LONGS, has_map_keys, namespaced)
    scope_key = ("key", 3) if namespaced else "key"
    key = (scope_key, "map key") if has_map_keys else scope_key
    stored = (value, 5) if ttl else value
    assert codec.key_in(codec.encode(stored)) is None
    assert codec.key_in(codec.encode_with_key(key, stored)) == (scope_key, "map key" if has_map_keys else None)
    assert codec.decode(codec.encode_with_key(key, stored)) == stored


@pytest.mark.parametrize("ttl", [False, True])
@pytest.mark.parametrize("value", [7, None])
def test_a_value_can_be_cut_out_and_replaced(ttl, value):
    codec = Codec(ttl, LONGS)
    stored = (value, 5) if ttl else value
    for data in (codec.encode(stored), codec.encode_with_key("key", stored)):
        head, cut = split_value(data, ttl)
        assert cut == (None if value is None else LONGS.value.to_bytes(7))
        assert head + (cut or b"") == data

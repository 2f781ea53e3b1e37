"""Values as bytes."""

import pickle

import pytest

from rekindle.state.rocksdb.codec import Codec, last_access_of

VALUES = [1, None, "x", [1, 2], {"a": (1,)}, b"\x01"]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_comes_back(value):
    codec = Codec(ttl=False)
    assert codec.decode(codec.encode(value)) == value
    assert codec.decode(codec.encode_with_key("key", value)) == value


@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize("last_access", [0, 1_700_000_000_000, -5])
def test_a_value_comes_back_with_its_last_access(value, last_access):
    codec = Codec(ttl=True)
    for data in (codec.encode((value, last_access)), codec.encode_with_key("key", (value, last_access))):
        assert codec.decode(data) == (value, last_access)
        assert last_access_of(data) == last_access


def test_time_to_live_costs_eight_bytes():
    assert len(Codec(ttl=True).encode(("value", 1_700_000_000_000))) == len(Codec(ttl=False).encode("value")) + 8


def test_a_value_without_a_key_is_just_a_pickle():
    assert Codec(ttl=False).encode("value") == pickle.dumps("value", 5)


@pytest.mark.parametrize("ttl", [False, True])
def test_the_key_is_found_if_there_is_one(ttl):
    codec = Codec(ttl)
    value = ("value", 5) if ttl else "value"
    assert codec.key_in(codec.encode(value)) is None
    assert codec.key_in(codec.encode_with_key(True, value)) == (True,)
    assert codec.key_in(codec.encode_with_key(None, value)) == (None,)

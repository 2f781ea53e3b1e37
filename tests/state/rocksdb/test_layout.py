"""Where entries stand: by key group, all of one key together, and nothing of another between them."""

from hypothesis import given
from hypothesis import strategies as st

from rekindle.state.key_hash import key_group_of
from rekindle.state.rocksdb.key_encoding import encode_key, sized
from rekindle.state.rocksdb.layout import (
    Layout,
    end_of_key,
    end_of_prefix,
    key_group_at,
    key_group_start,
    key_of,
    pack_sequence,
)

keys = (
    st.none() | st.integers() | st.text() | st.binary(max_size=300) | st.tuples(st.text(), st.floats(allow_nan=False))
)


@given(keys, keys, st.sampled_from([1, 128, 32768]))
def test_the_key_group_comes_first_and_keys_are_read_back(key, namespace, max_parallelism):
    for scope_key, layout in ((key, Layout(max_parallelism, False)), ((key, namespace), Layout(max_parallelism, True))):
        prefix, _ = layout.place(scope_key)
        for tail in (b"", pack_sequence(1 << 40), encode_key("map key")):
            assert key_group_at(prefix + tail) == key_group_of(key, max_parallelism)
            assert layout.split(prefix + tail) == len(prefix)
            assert layout.scope_key(prefix + tail) == scope_key
            assert key_of(prefix + tail) == key


@given(st.integers() | st.sampled_from([-(1 << 63) - 1, -(1 << 63), (1 << 63) - 1, 1 << 63]) | st.booleans())
def test_a_prefix_is_the_key_group_and_the_sized_key(key):
    prefix, exact = Layout(128, False).place(key)
    assert prefix == key_group_start(key_group_of(key, 128)) + sized(encode_key(key))
    assert exact == (type(key) is int)


@given(keys, keys, keys, keys, st.booleans())
def test_no_prefix_is_the_beginning_of_another(key, namespace, other_key, other_namespace, namespaced):
    layout = Layout(128, namespaced)
    one = (key, namespace) if namespaced else key
    other = (other_key, other_namespace) if namespaced else other_key
    if one != other:
        assert not layout.place(other)[0].startswith(layout.place(one)[0])


@given(keys, st.integers(0, 2**63), keys)
def test_all_tails_are_between_the_prefix_and_its_end(key, sequence, map_key):
    prefix, _ = Layout(128, False).place(key)
    for tail in (b"", pack_sequence(sequence), encode_key(map_key)):
        assert prefix <= prefix + tail < end_of_prefix(prefix)


@given(keys, keys, keys)
def test_namespaces_of_a_key_share_what_is_before_the_namespace(key, one, other):
    layout = Layout(128, True)
    starts = {prefix[: end_of_key(prefix)] for prefix, _ in (layout.place((key, one)), layout.place((key, other)))}
    assert len(starts) == 1


@given(st.integers(0, 2**63), st.integers(0, 2**63))
def test_sequence_numbers_are_in_order(one, other):
    assert (pack_sequence(one) < pack_sequence(other)) == (one < other)


def test_key_groups_are_in_order_up_to_the_last():
    starts = [key_group_start(key_group) for key_group in range(32769)]
    assert starts == sorted(starts)


def test_a_prefix_knows_whether_the_key_is_read_back_exactly():
    assert Layout(128, False).place(1)[1]
    assert not Layout(128, False).place(True)[1]
    assert Layout(128, True).place((1, "w"))[1]
    assert not Layout(128, True).place((1, 2.0))[1]
    assert not Layout(128, True).place((1.0, "w"))[1]


def test_the_last_key_is_remembered_by_identity_only():
    layout = Layout(128, False)
    assert layout.place("a") == layout.place("a")
    assert layout.place(True)[1] is False
    assert layout.place(1) == (layout.place(True)[0], True)

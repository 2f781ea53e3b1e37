"""What holds for every kind of state."""

from __future__ import annotations

import copy

import pytest

from rekindle.datastream.state import ListStateDescriptor, ValueStateDescriptor
from rekindle.exceptions import InvalidProgramError, StateAccessError, StateRestoreError

from .driver import EVERY_KIND, Keyed, Kind


@EVERY_KIND
class TestEveryKind:
    def test_an_unset_state_is_empty(self, keyed: Keyed, kind: Kind) -> None:
        keyed.key = "a"
        assert kind.read(keyed.open(kind.descriptor())) == kind.unset

    def test_what_is_written_is_read(self, keyed: Keyed, kind: Kind) -> None:
        keyed.key = "a"
        state = keyed.open(kind.descriptor())
        kind.write(state, 5)
        assert kind.read(state) == kind.expected(5)
        assert kind.read(state) == kind.expected(5)

    def test_a_state_that_is_written_again_changes(self, keyed: Keyed, kind: Kind) -> None:
        keyed.key = "a"
        state = keyed.open(kind.descriptor())
        kind.write(state, 5)
        kind.write(state, 8)
        assert kind.read(state) not in (kind.expected(5), kind.unset)

    def test_clear_empties_the_state_of_the_current_key_alone(self, keyed: Keyed, kind: Kind) -> None:
        state = keyed.open(kind.descriptor())
        for keyed.key in ("a", "b"):
            kind.write(state, 3)
        state.clear()
        state.clear()
        assert kind.read(state) == kind.unset
        keyed.key = "a"
        assert kind.read(state) == kind.expected(3)

    def test_a_cleared_state_starts_anew(self, keyed: Keyed, kind: Kind) -> None:
        keyed.key = "a"
        state = keyed.open(kind.descriptor())
        kind.write(state, 3)
        state.clear()
        kind.write(state, 4)
        assert kind.read(state) == kind.expected(4)

    def test_a_cleared_state_takes_no_room(self, keyed: Keyed, kind: Kind) -> None:
        keyed.key = "a"
        state = keyed.open(kind.descriptor())
        kind.write(state, 3)
        assert list(keyed.stored(kind.name)) == ["a"]
        state.clear()
        assert keyed.stored(kind.name) == {}
        assert list(keyed.backend.keys(kind.name)) == []

    def test_two_states_of_one_operator_do_not_touch_each_other(self, keyed: Keyed, kind: Kind) -> None:
        keyed.key = "a"
        state = keyed.open(kind.descriptor())
        other = keyed.open(kind.describe("other"))
        kind.write(state, 3)
        kind.write(other, 9)
        assert kind.read(state) == kind.expected(3)
        other.clear()
        assert kind.read(state) == kind.expected(3)
        assert kind.read(other) == kind.unset

    def test_an_equal_descriptor_gives_the_same_state(self, keyed: Keyed, kind: Kind) -> None:
        keyed.key = "a"
        descriptor = kind.descriptor()
        kind.write(keyed.open(descriptor), 3)
        again = keyed.open(copy.copy(descriptor))
        assert again is keyed.open(descriptor)
        assert kind.read(again) == kind.expected(3)

    def test_another_kind_of_state_under_that_name_raises_naming_operator_and_state(
        self, keyed: Keyed, kind: Kind
    ) -> None:
        keyed.open(kind.descriptor())
        other = ListStateDescriptor(kind.name) if kind.name != "list" else ValueStateDescriptor(kind.name)
        with pytest.raises(InvalidProgramError, match=rf"state '{kind.name}' of operator 'operator'"):
            keyed.open(other)

    def test_another_kind_of_state_in_the_snapshot_raises_naming_both(self, keyed: Keyed, kind: Kind) -> None:
        keyed.key = "a"
        kind.write(keyed.open(kind.descriptor()), 3)
        other = ListStateDescriptor(kind.name) if kind.name != "list" else ValueStateDescriptor(kind.name)
        wanted = "list" if kind.name != "list" else "value"
        owner = r"of operator 'operator' \(uid 'uid'\)"
        expected = rf"state '{kind.name}' {owner} is a {kind.name} state in the snapshot and a {wanted}"
        for snapshot in (keyed.checkpoint(), keyed.savepoint()):
            with pytest.raises(StateRestoreError, match=expected):
                keyed.restored(snapshot).open(other)

    def test_without_a_current_key_access_raises_and_says_what_to_do(self, keyed: Keyed, kind: Kind) -> None:
        state = keyed.open(kind.descriptor())
        for access in (lambda: kind.read(state), lambda: kind.write(state, 1), state.clear):
            with pytest.raises(StateAccessError, match="no current key, such as in open"):
                access()
        keyed.key = "a"
        assert kind.read(state) == kind.unset

    def test_a_restored_state_can_be_changed(self, keyed: Keyed, kind: Kind) -> None:
        keyed.key = "a"
        kind.write(keyed.open(kind.descriptor()), 1)
        after = keyed.restarted()
        after.key = "a"
        state = after.open(kind.descriptor())
        assert kind.read(state) == kind.expected(1)
        kind.write(state, 5)
        assert kind.read(state) not in (kind.expected(1), kind.unset)
        state.clear()
        assert kind.read(state) == kind.unset
        kind.write(state, 6)
        again = after.restarted()
        again.key = "a"
        assert kind.read(again.open(kind.descriptor())) == kind.expected(6)

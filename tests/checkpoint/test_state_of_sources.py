"""Where sources go on when a program has changed: each where it was, and where nobody can tell, nowhere."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from rekindle.checkpoint.left_behind import left_behind, listed
from rekindle.checkpoint.metadata import CheckpointMetadata, OperatorMetadata, SourcePosition
from rekindle.checkpoint.restoring import Consent, fit_to_checkpoint
from rekindle.checkpoint.source_positions import positions_for
from rekindle.datastream import DataStream
from rekindle.exceptions import StateRestoreError
from rekindle.graph.job_graph import JobGraph
from rekindle.graph.operator_shape import OperatorShape
from support.programs_with_uids import IN_ORDER, UNTIMED, checkpoint_of, earlier_release, environment, files

DERIVED = [OperatorShape("TextLinesOperator").uid(number) for number in range(3)]


def compiled(*sources: tuple[str, str | None], strategy: object = IN_ORDER) -> JobGraph:
    """Compile a program that reads files; of each source the name is given, and the uid, if it has one."""
    env = environment()
    for name, uid in sources:
        stream = files(env, name, strategy)  # type: ignore[arg-type]
        if uid is not None:
            stream.uid(uid)
        printed = stream.print()
        if uid is not None:
            printed.uid(f"{uid} printed")
    return env._compile()


def taken_over(graph: JobGraph, metadata: CheckpointMetadata) -> dict[str, str]:
    """Return the names of the sources that wrote the positions which the program takes over, by uid."""
    fit_to_checkpoint(graph, metadata, Consent())
    return {position.uid: position.offsets[0] for position in positions_for(graph, metadata)}


ORDERS, MORE = ("orders", "orders"), ("more", "more")


class TestWithUids:
    def test_a_source_above_another_leaves_it_where_it_was(self) -> None:
        saved = checkpoint_of(compiled(ORDERS))
        assert taken_over(compiled(MORE, ORDERS), saved) == {"orders": "orders"}

    @pytest.mark.parametrize(("before", "after"), [(UNTIMED, IN_ORDER), (IN_ORDER, UNTIMED)])
    def test_watermarks_may_come_and_go(self, before: object, after: object) -> None:
        saved = checkpoint_of(compiled(ORDERS, strategy=before))
        assert taken_over(compiled(ORDERS, strategy=after), saved) == {"orders": "orders"}

    def test_one_that_is_gone_leaves_its_position_behind(self) -> None:
        saved = checkpoint_of(compiled(MORE, ORDERS))
        with pytest.raises(StateRestoreError, match=r"does not have: 'more' \(uid more: position\)"):
            fit_to_checkpoint(compiled(ORDERS), saved, Consent())
        fit_to_checkpoint(compiled(ORDERS), saved, Consent(unclaimed_state=True))


class TestOfAnEarlierRelease:
    """It stored positions under uids that were derived, and had the ones given behind them."""

    def test_a_source_goes_on_where_it_was(self) -> None:
        saved = earlier_release(checkpoint_of(compiled(MORE, ORDERS)), more=DERIVED[0], orders=DERIVED[1])
        assert taken_over(compiled(MORE, ORDERS), saved) == {"more": "more", "orders": "orders"}

    def test_also_where_others_were_added_or_moved(self) -> None:
        saved = earlier_release(checkpoint_of(compiled(ORDERS)), orders=DERIVED[0])
        assert taken_over(compiled(MORE, ORDERS), saved) == {"orders": "orders"}
        saved = earlier_release(checkpoint_of(compiled(MORE, ORDERS)), more=DERIVED[0], orders=DERIVED[1])
        assert taken_over(compiled(ORDERS, ("new", "new"), MORE), saved) == {"more": "more", "orders": "orders"}

    def test_also_where_it_has_no_watermarks_any_more(self) -> None:
        saved = earlier_release(checkpoint_of(compiled(ORDERS)), orders=DERIVED[0])
        assert taken_over(compiled(ORDERS, strategy=UNTIMED), saved) == {"orders": "orders"}

    def test_one_that_is_gone_leaves_its_position_behind(self) -> None:
        saved = earlier_release(checkpoint_of(compiled(MORE, ORDERS)), more=DERIVED[0], orders=DERIVED[1])
        with pytest.raises(StateRestoreError, match=rf"'more' \(uid {DERIVED[0]}: position\).*set_uid_hash"):
            fit_to_checkpoint(compiled(ORDERS), saved, Consent())
        assert listed(left_behind(compiled(ORDERS), saved)) == f"'more' (uid {DERIVED[0]}: position)"

    def test_one_without_a_uid_goes_on_beside_it(self) -> None:
        program = compiled(ORDERS, ("old", None))
        saved = earlier_release(checkpoint_of(program), orders=DERIVED[0])
        assert taken_over(program, saved) == {"orders": "orders", DERIVED[1]: "old"}

    def test_one_without_a_uid_that_may_be_meant_is_refused(self) -> None:
        saved = earlier_release(checkpoint_of(compiled(ORDERS)), orders=DERIVED[0])
        program = compiled(("old", None), ORDERS)
        with pytest.raises(
            StateRestoreError, match=rf"'orders' \(uid orders\) or to source 'old'.*{DERIVED[0]}"
        ) as info:
            fit_to_checkpoint(program, saved, Consent(unclaimed_state=True))
        assert "Give 'old' a uid" in str(info.value)

    def test_a_program_without_uids_goes_on(self) -> None:
        program = compiled(("a", None), ("b", None))
        saved = earlier_release(checkpoint_of(program))
        assert taken_over(program, saved) == {DERIVED[0]: "a", DERIVED[1]: "b"}

    def test_the_uid_of_another_operator_behind_a_source_is_not_taken_for_its_own(self) -> None:
        """The source before the operator with the uid is not one that the new source may be."""
        saved = earlier_release(checkpoint_of(compiled(ORDERS)), orders="0" * 32)
        with pytest.raises(StateRestoreError, match="does not have: 'orders'"):
            fit_to_checkpoint(compiled(ORDERS), saved, Consent())


class TestUidsThatBelongToSomethingElse:
    def test_a_position_and_no_source(self) -> None:
        env = environment()
        env.from_collection([1]).uid("numbers").map(str).uid("orders").name("Parse").print().uid("out")
        with pytest.raises(StateRestoreError) as info:
            fit_to_checkpoint(env._compile(), checkpoint_of(compiled(ORDERS)), Consent())
        assert (
            "'orders' (uid orders: position), a uid that 'Parse' has now, which is no source that Spark reads. Give "
            "those operators their old uid, and another one to what has it now, or drop their state by setting"
        ) in str(info.value)
        fit_to_checkpoint(env._compile(), checkpoint_of(compiled(ORDERS)), Consent(unclaimed_state=True))

    def test_a_position_and_a_source_in_the_slots(self) -> None:
        env = environment()
        env.from_collection([1]).uid("orders").print()
        left = left_behind(env._compile(), checkpoint_of(compiled(ORDERS)))
        assert listed(left) == (
            "'orders' (uid orders: position), a uid that 'Collection Source' has now, which is no source that Spark "
            "reads"
        )

    @pytest.mark.parametrize("write", [lambda env: files(env), lambda env: env.from_collection([1]).map(str)])
    def test_what_a_source_in_the_slots_has_read(self, write: Callable[..., DataStream]) -> None:
        before, after = environment(), environment()
        before.from_collection([1]).uid("orders").print()
        write(after).uid("orders").name("Other").print()
        assert listed(left_behind(after._compile(), checkpoint_of(before._compile()))) == (
            "'Collection Source' (uid orders: position), a uid that 'Other' has now, which is no source of the same "
            "kind (CollectionSourceOperator)"
        )

    def test_state_of_an_operator_and_a_source(self) -> None:
        saved = CheckpointMetadata(
            7, "job", "j", 0, 5, [OperatorMetadata("orders", "Count", 1, 128, ["total"], {})], [], []
        )
        assert listed(left_behind(compiled(ORDERS), saved)) == (
            "'Count' (uid orders: total), a uid that 'orders' has now, which is a source"
        )

    def test_who_did_not_say_what_sources_there_were_is_believed(self) -> None:
        env = environment()
        env.from_collection([1]).uid("numbers").print()
        saved = checkpoint_of(env._compile())
        operators = [msgspec.structs.replace(operator, source_kind=None) for operator in saved.operators]
        assert not left_behind(env._compile(), msgspec.structs.replace(saved, operators=operators))


class TestAlikeWithoutUids:
    A, B, NEW = ("a", None), ("b", None), ("new", None)

    def test_names_tell_them_apart(self) -> None:
        saved = checkpoint_of(compiled(self.A, self.B))
        assert taken_over(compiled(self.A, self.B), saved) == {DERIVED[0]: "a", DERIVED[1]: "b"}
        assert taken_over(compiled(self.A, self.B, self.NEW), saved) == {DERIVED[0]: "a", DERIVED[1]: "b"}

    def test_they_may_be_renamed(self) -> None:
        saved = checkpoint_of(compiled(self.A, self.B))
        assert taken_over(compiled(("orders", None), self.B), saved) == {DERIVED[0]: "a", DERIVED[1]: "b"}

    @pytest.mark.parametrize("program", [(NEW, A, B), (B, A), (("a", None), ("a", None), ("b", None))])
    @pytest.mark.parametrize("consent", [Consent(), Consent(unclaimed_state=True)])
    def test_a_position_is_given_to_no_other(
        self, program: tuple[tuple[str, str | None], ...], consent: Consent
    ) -> None:
        saved = checkpoint_of(compiled(self.A, self.B))
        with pytest.raises(StateRestoreError, match=rf"nobody can tell which.*set_uid_hash\('{DERIVED[0]}'\)"):
            fit_to_checkpoint(compiled(*program), saved, consent)

    def test_one_that_is_gone_leaves_its_position_behind_and_gives_it_to_no_other(self) -> None:
        saved = checkpoint_of(compiled(self.A, self.B))
        with pytest.raises(StateRestoreError, match=r"'b'.*: position"):
            fit_to_checkpoint(compiled(self.A), saved, Consent())
        fit_to_checkpoint(compiled(self.A), saved, Consent(unclaimed_state=True))
        with pytest.raises(StateRestoreError, match="nobody can tell"):
            fit_to_checkpoint(compiled(self.B), saved, Consent(unclaimed_state=True))

    def test_the_hash_says_which_it_is(self) -> None:
        env = environment()
        files(env, "new").uid("new").print()
        files(env, "renamed").set_uid_hash(DERIVED[0]).print()
        assert taken_over(env._compile(), checkpoint_of(compiled(self.A))) == {DERIVED[0]: "a"}

    def test_states_of_operators_are_not_mixed_up_either(self) -> None:
        def program(*names: str) -> JobGraph:
            env = environment()
            keyed = env.from_collection([1]).key_by(lambda number: number)
            for name in names:
                keyed.reduce(lambda one, two: one + two).name(name).print()
            return env._compile()

        saved = checkpoint_of(program("Reduce"))
        fit_to_checkpoint(program("Reduce"), saved, Consent())
        fit_to_checkpoint(program("Sum"), saved, Consent())
        with pytest.raises(StateRestoreError, match=r"had 'Reduce' then, and has 'Reduce', 'Reduce' now"):
            fit_to_checkpoint(program("Reduce", "Reduce"), saved, Consent())

    def test_nor_are_those_behind_operators_alike(self) -> None:
        """All that is between them and the source is alike, too: it has no state, and moves up with them."""

        def program(*names: str) -> JobGraph:
            env = environment()
            source = env.from_collection([1]).uid("numbers")
            for name in names:
                mapped = source.map(str)
                if name:
                    mapped = mapped.key_by(str).reduce(lambda one, two: one + two).name(name)
                mapped.print()
            return env._compile()

        saved = checkpoint_of(program("old"))
        with pytest.raises(StateRestoreError, match=r"had 'old' then, and has 'new', 'old' now"):
            fit_to_checkpoint(program("new", "old"), saved, Consent())
        fit_to_checkpoint(program("old", "new"), saved, Consent())
        fit_to_checkpoint(program("old", ""), saved, Consent())

    def test_others_without_state_do_not_matter(self) -> None:
        saved = checkpoint_of(compiled(self.A))
        unread = msgspec.structs.replace(saved, positions=[SourcePosition(DERIVED[0], [], [])])
        fit_to_checkpoint(compiled(self.NEW, self.A), unread, Consent())

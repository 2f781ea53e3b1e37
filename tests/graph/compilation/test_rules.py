"""Each rule of the compilation by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from rekindle.contracts.functions.function_adapters import as_map_function
from rekindle.exceptions import ConfigurationError, InvalidProgramError
from rekindle.graph.compilation.conversions import chained_edges, settle_conversions
from rekindle.graph.compilation.levels import Levels
from rekindle.graph.compilation.parallelism import Parallelism, settle_parallelism
from rekindle.graph.compilation.partitioners import settle_partitioners
from rekindle.graph.partitioning import FORWARD, REBALANCE, RESCALE, Partitioner, Partitioning
from rekindle.graph.stream_graph import Chaining, Part, StreamEdge, StreamGraph, StreamNode, with_parts_settled
from rekindle.graph.transformations.one_input import MapTransformation
from rekindle.graph.transformations.sources import CollectionSourceTransformation, RowsTransformation
from rekindle.graph.transformations.transformation import Transformation
from rekindle.types.typeinfo import Types

HASH = Partitioner(Partitioning.HASH, lambda record: record)
ASKED = Partitioner(Partitioning.FORWARD, asked_for=True)


@dataclass(frozen=True, eq=False)
class Watermarks(Transformation):
    kind: ClassVar[str] = "Watermarks"
    generates_watermarks: ClassVar[bool] = True


class Program(StreamGraph):
    """Write a program, node by node."""

    def source(self, **settings: Any) -> StreamNode:
        return self.add("source", CollectionSourceTransformation([]), (), **settings)

    def rows(self, **settings: Any) -> StreamNode:
        return self.add("rows", RowsTransformation(), (), data_frame=object(), **settings)

    def map(self, *inputs: tuple[StreamNode, Partitioner], type_info: Any = None, **settings: Any) -> StreamNode:
        edges = tuple(StreamEdge(node.id, partitioner, type_info) for node, partitioner in inputs)
        return self.add("map", MapTransformation(as_map_function(lambda v: v)), edges, **settings)

    def parallelism(self) -> dict[int, Parallelism]:
        return settle_parallelism(self.nodes, 2, None)


class TestParallelism:
    def test_an_operator_has_its_own_or_the_one_of_the_environment(self) -> None:
        program = Program()
        source = program.source(parallelism=1)
        mapped = program.map((source, FORWARD), max_parallelism=7)
        settled = settle_parallelism(program.nodes, 3, 64)
        assert settled == {source.id: (1, 64, True), mapped.id: (3, 7, True)}
        assert not settle_parallelism(program.nodes, 3, None)[source.id].explicit

    def test_a_part_is_beside_its_whole(self) -> None:
        program = Program()
        head = program.source(parallelism=5, max_parallelism=7)
        edge = StreamEdge(head.id, FORWARD)
        tail = program.add_part(head, Part.FEEDBACK, MapTransformation(as_map_function(str)), (edge,))
        assert settle_parallelism(with_parts_settled(program.nodes), 2, None)[tail.id] == (5, 7, True)

    def test_more_subtasks_than_key_groups_are_refused(self) -> None:
        program = Program()
        program.source(parallelism=9, max_parallelism=8)
        with pytest.raises(ConfigurationError):
            settle_parallelism(program.nodes, 2, None)


class TestPartitioners:
    def settled(self, program: Program, heads: tuple[int, ...] = ()) -> dict[int, list[Partitioner]]:
        return settle_partitioners(program.nodes, program.parallelism(), heads)[0]

    def test_records_are_dealt_out_anew_where_the_parallelism_changes(self) -> None:
        program = Program()
        mapped = program.map((program.source(parallelism=1), FORWARD))
        assert self.settled(program)[mapped.id] == [REBALANCE]

    def test_forward_that_was_asked_for_cannot_change_the_parallelism(self) -> None:
        program = Program()
        program.map((program.source(parallelism=1), ASKED), parallelism=3)
        with pytest.raises(InvalidProgramError, match="'source' has 1 subtasks and 'map' has 3"):
            self.settled(program)

    def test_an_exchange_stands_before_what_must_know_that_all_tasks_of_spark_are_done(self) -> None:
        program = Program()
        rows = program.rows()
        mapped = program.map((rows, FORWARD))
        united = program.map((rows, FORWARD), (program.source(), FORWARD))
        timed = program.add("timed", Watermarks(), (StreamEdge(mapped.id, FORWARD),))
        settled = self.settled(program)
        assert settled[mapped.id] == [FORWARD]
        assert settled[united.id] == [RESCALE, FORWARD]
        assert settled[timed.id] == [REBALANCE]

    def test_a_loop_does_not_begin_in_level_0_where_spark_has_sources(self) -> None:
        program = Program()
        program.rows()
        head = program.map((program.source(), FORWARD))
        assert self.settled(program, (head.id,))[head.id] == [RESCALE]
        assert self.settled(program)[head.id] == [FORWARD]


class TestLevels:
    def test_a_level_is_the_number_of_exchanges_on_the_longest_way(self) -> None:
        program = Program()
        source = program.source()
        keyed = program.map((source, HASH))
        joined = program.map((source, HASH), (keyed, HASH))
        levels = Levels(program.nodes, program.parallelism())
        levels.add(source, [])
        levels.add(keyed, [HASH])
        levels.add(joined, [HASH, HASH])
        assert levels.level == {source.id: 0, keyed.id: 1, joined.id: 2}
        assert levels.exchanges == {(keyed.id, 0): True, (joined.id, 0): True, (joined.id, 1): True}

    def test_one_subtask_has_nothing_to_exchange_unless_spark_feeds_the_job(self) -> None:
        for feed, exchange in ((Program.source, False), (Program.rows, True)):
            program = Program()
            source = feed(program, parallelism=1)
            keyed = program.map((source, HASH), parallelism=1)
            levels = Levels(program.nodes, program.parallelism())
            levels.add(source, [])
            levels.add(keyed, [HASH])
            assert levels.exchanges[keyed.id, 0] is exchange

    def test_what_spark_feeds_ends_at_the_first_exchange(self) -> None:
        program = Program()
        rows = program.rows()
        mapped = program.map((rows, FORWARD))
        keyed = program.map((mapped, HASH))
        _, levels = settle_partitioners(program.nodes, program.parallelism(), ())
        assert levels.cluster_fed == {rows.id: True, mapped.id: True, keyed.id: False}


class TestConversions:
    def chained(self, program: Program) -> set[tuple[int, int]]:
        return chained_edges(program.nodes, program.parallelism())

    def test_functions_that_follow_each_other_are_chained(self) -> None:
        program = Program()
        first = program.map((program.source(), FORWARD))
        second = program.map((first, FORWARD))
        assert self.chained(program) == {(second.id, 0)}

    @pytest.mark.parametrize(
        "settings", [{"chaining": Chaining.HEAD}, {"chaining": Chaining.NEVER}, {"typed_input": True}]
    )
    def test_an_operator_may_refuse_to_be_chained(self, settings: dict[str, Any]) -> None:
        program = Program()
        program.map((program.map((program.source(), FORWARD)), FORWARD), **settings)
        assert self.chained(program) == set()

    def test_an_exchange_that_only_rekindle_needs_converts_nothing(self) -> None:
        program = Program()
        mapped = program.map((program.rows(), FORWARD))
        timed = program.add("timed", Watermarks(), (StreamEdge(mapped.id, FORWARD),))
        settled, _ = settle_partitioners(program.nodes, program.parallelism(), ())
        assert settled[timed.id] == [REBALANCE]
        assert self.chained(program) == {(timed.id, 0)}

    def test_a_change_of_parallelism_is_not_chained(self) -> None:
        program = Program()
        program.map((program.map((program.source(), FORWARD)), FORWARD), parallelism=1)
        assert self.chained(program) == set()

    def test_two_readers_are_not_chained(self) -> None:
        program = Program()
        first = program.map((program.source(), FORWARD))
        program.map((first, FORWARD))
        program.map((first, FORWARD))
        assert self.chained(program) == set()

    def test_records_are_converted_on_edges_that_are_not_chained_and_have_a_type(self) -> None:
        program = Program()
        first = program.map((program.source(), FORWARD), type_info=Types.LONG())
        second = program.map((first, FORWARD), type_info=Types.LONG())
        third = program.map((second, HASH), type_info=Types.PICKLED_BYTE_ARRAY())
        found = settle_conversions(program.nodes, self.chained(program))
        assert found[first.id, 0].type_info == Types.LONG()
        assert found[second.id, 0].type_info is None
        assert found[third.id, 0].type_info is None

    def test_a_key_selector_sees_converted_records_unless_it_could_be_chained(self) -> None:
        program = Program()
        source = program.source()
        mapped = program.map((source, HASH))
        alone = program.map((mapped, HASH))
        found = settle_conversions(program.nodes, set())
        assert found[mapped.id, 0].typed_keys
        assert not found[alone.id, 0].typed_keys

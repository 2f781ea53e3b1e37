"""The operator that follows splits: which are its own, which are idle, and what its watermark waits for."""

from __future__ import annotations

import pyarrow as pa

from rekindle.columns.shapes import Shape
from rekindle.common import Duration, WatermarkStrategy
from rekindle.connectors.kafka.record_decoders import StringDecoder
from rekindle.graph.splits import split_owner
from rekindle.runtime.column_chunk import ColumnChunk
from rekindle.runtime.operators.operator import MAX_WATERMARK, MIN_WATERMARK
from rekindle.runtime.operators.split_records import SplitRecordsOperator
from rekindle.testing import ManualClock, OperatorHarness
from support.kafka_tables import read

IDLE_AFTER_A_SECOND = WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of_seconds(1))


def opened(strategy: WatermarkStrategy | None, subtask: int = 0, parallelism: int = 1) -> SplitRecordsOperator:
    operator = SplitRecordsOperator(StringDecoder(), strategy)
    OperatorHarness(operator, subtask=subtask, parallelism=parallelism, clock=ManualClock())
    return operator


def rows(partition: int, *stamps: int) -> ColumnChunk:
    batch: pa.RecordBatch = read(partition, [(b"x", stamp) for stamp in stamps])
    return ColumnChunk(batch.columns, Shape.row(batch.schema.names))


def watermark(operator: SplitRecordsOperator) -> int:
    return operator.output_watermark(MIN_WATERMARK)


def test_a_split_that_goes_idle_is_waited_for_no_more_and_counts_again_when_it_has_records() -> None:
    operator = opened(IDLE_AFTER_A_SECOND)
    operator.assign_splits([("t", 0), ("t", 1)])
    operator.process(rows(0, 5000))
    operator.advance_processing_time(0)
    assert (watermark(operator), operator.output_idle(False)) == (MIN_WATERMARK, False)
    assert operator.next_processing_timer() == 1001
    operator.process(rows(0, 6000))
    operator.advance_processing_time(1001)
    assert watermark(operator) == 5999  # split 1 has been idle for long enough
    operator.process(rows(1, 5500))
    operator.process(rows(0, 9000))
    operator.advance_processing_time(1002)
    assert watermark(operator) == 5999  # it is behind, which takes nothing back
    operator.process(rows(1, 7000))
    operator.advance_processing_time(1003)
    assert watermark(operator) == 6999


def test_when_all_splits_are_idle_the_subtask_is_and_its_watermark_stays() -> None:
    operator = opened(IDLE_AFTER_A_SECOND)
    operator.assign_splits([("t", 0), ("t", 1)])
    operator.process(rows(0, 5000))
    operator.process(rows(1, 100))
    operator.advance_processing_time(0)
    operator.advance_processing_time(1001)
    assert operator.output_idle(False)
    assert watermark(operator) == 99


def test_splits_that_go_idle_between_two_looks_do_so_in_the_order_of_their_last_records() -> None:
    operator = opened(IDLE_AFTER_A_SECOND)
    operator.assign_splits([("t", 0), ("t", 1), ("t", 2)])
    operator.process(rows(0, 5000))
    operator.process(rows(1, 3000))
    operator.advance_processing_time(10)
    assert watermark(operator) == MIN_WATERMARK  # split 2 is not idle yet
    operator.advance_processing_time(2000)
    assert operator.output_idle(False)
    assert watermark(operator) == 2999  # split 2 was idle first


def test_a_subtask_has_the_splits_that_it_owns_and_is_idle_without() -> None:
    splits = [("t", number) for number in range(3)]
    for subtask in range(5):
        operator = opened(IDLE_AFTER_A_SECOND, subtask, 5)
        operator.assign_splits(splits)
        own = [split for split in splits if split_owner(split, 5) == subtask]
        assert operator.output_idle(False) is (not own)


def test_a_split_that_has_ended_is_waited_for_no_more() -> None:
    operator = opened(WatermarkStrategy.for_monotonous_timestamps())
    operator.assign_splits([("t", 0), ("t", 1)])
    operator.process(rows(0, 5000))
    operator.process(rows(1, 100))
    operator.advance_processing_time(0)
    assert watermark(operator) == 99
    operator.assign_splits([("t", 0)])
    operator.advance_processing_time(1)
    assert watermark(operator) == 4999
    assert operator.output_watermark(MAX_WATERMARK) == MAX_WATERMARK


def test_watermarks_move_inside_a_chunk_if_no_other_split_is_behind() -> None:
    operator = opened(WatermarkStrategy.for_monotonous_timestamps())
    operator.assign_splits([("t", 0)])
    pieces = list(operator.pieces(rows(0, 1, 2, 3)))
    assert [piece.values for piece in pieces if piece is not None] == [["x", "x", "x"]]
    operator.advance_processing_time(0)
    assert watermark(operator) == 2


def test_without_a_strategy_records_keep_their_timestamps_and_nothing_is_idle() -> None:
    operator = opened(None)
    records = operator.process(rows(0, 7, 8))
    assert (records.values, records.timestamps) == (["x", "x"], [7, 8])
    assert not operator.output_idle(False)
    assert watermark(operator) == MIN_WATERMARK

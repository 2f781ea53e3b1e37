"""The order of elements, watermarks and idleness in the buffer of a source."""

from __future__ import annotations

from rekindle.runtime.operators.operator import MIN_WATERMARK
from rekindle.runtime.operators.source_buffer import SourceBuffer


def taken(buffer: SourceBuffer, most: int = 100) -> list[object]:
    chunk = buffer.take(most)
    return [] if chunk is None else [value for piece in buffer.pieces(chunk) for value in piece.values]


def test_elements_come_in_their_order_in_parts() -> None:
    buffer = SourceBuffer()
    for value in range(5):
        buffer.add(value)
    assert [taken(buffer, 2), taken(buffer, 2), taken(buffer, 2), taken(buffer)] == [[0, 1], [2, 3], [4], []]


def test_timestamps_are_kept_only_where_there_are_some() -> None:
    buffer = SourceBuffer()
    buffer.add("a")
    assert buffer.take(10).timestamps is None  # type: ignore[union-attr]
    buffer.add("a")
    buffer.add_with_timestamp("b", 7)
    buffer.add("c")
    assert buffer.content() == (["a", "b", "c"], [None, 7, None])
    chunk = buffer.take(2)
    assert chunk is not None
    assert (chunk.values, chunk.timestamps) == (["a", "b"], [None, 7])
    chunk = buffer.take(2)
    assert chunk is not None
    assert (chunk.values, chunk.timestamps) == (["c"], [None])


def test_a_watermark_counts_when_all_elements_before_it_were_taken() -> None:
    buffer = SourceBuffer()
    buffer.add(1)
    buffer.add(2)
    buffer.mark(10)
    buffer.add(3)
    buffer.mark(20)
    seen = [(taken(buffer, 1), buffer.watermark) for _ in range(3)]
    assert seen == [([1], MIN_WATERMARK), ([2], 10), ([3], 20)]


def test_watermarks_never_go_back() -> None:
    buffer = SourceBuffer()
    for watermark in (-5, -7, 3, 1):
        buffer.mark(watermark)
        buffer.add(watermark)
    buffer.mark(2)
    taken(buffer)
    assert buffer.watermark == 3
    assert not buffer


def test_watermarks_without_elements_between_them_are_one() -> None:
    buffer = SourceBuffer()
    for watermark in range(1000):
        buffer.mark(watermark)
    assert len(buffer._marks) == 1
    assert bool(buffer)
    assert len(buffer) == 0
    assert taken(buffer) == []
    assert buffer.watermark == 999
    assert not buffer


def test_idleness_lasts_until_the_next_element_or_watermark() -> None:
    buffer = SourceBuffer()
    buffer.add(1)
    buffer.mark(None)
    taken(buffer)
    assert buffer.idle
    buffer.add(2)
    taken(buffer)
    assert not buffer.idle
    buffer.mark(None)
    buffer.mark(5)
    taken(buffer)
    assert not buffer.idle


def test_idleness_that_is_over_when_it_is_taken_does_not_count() -> None:
    buffer = SourceBuffer()
    buffer.mark(None)
    buffer.add(1)
    taken(buffer)
    assert not buffer.idle


def test_idleness_waits_for_the_elements_before_it() -> None:
    buffer = SourceBuffer()
    buffer.add(1)
    buffer.add(2)
    buffer.mark(None)
    taken(buffer, 1)
    assert not buffer.idle
    taken(buffer, 1)
    assert buffer.idle


def test_marks_keep_their_places_when_what_was_taken_is_given_out_in_portions() -> None:
    buffer = SourceBuffer()
    for number in range(1, 101):
        buffer.add_with_timestamp(number, number)
        if number % 10 == 0:
            buffer.mark(number)
    buffer.mark(None)
    chunk = buffer.take(1_000)
    assert chunk is not None
    behind = []
    for start in range(0, 100, 16):
        for piece in buffer.pieces(chunk.cut(start, start + 16)):
            assert min(piece.values, default=1 << 62) > max(behind, default=0), "nothing is behind a watermark"
            if piece.values and piece.values[-1] % 10 == 0:
                assert buffer.watermark == piece.values[-1]
            behind.append(buffer.watermark)
        assert buffer.idle == (start == 96)
    assert behind[-1] == 100

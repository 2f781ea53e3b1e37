"""The queue of an asynchronous operator: room, order, and what no result may overtake."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rekindle.runtime.operators.async_io.async_queue import AsyncQueue, Element
from rekindle.runtime.operators.operator import MIN_WATERMARK


def elements(*values: Any) -> list[Element]:
    return [Element(value, None) for value in values]


def taken(queue: AsyncQueue) -> list[Any]:
    return [element.value for element in queue.take()]


def started(queue: AsyncQueue) -> list[Element]:
    found = []
    while (element := queue.start()) is not None:
        found.append(element)
    return found


def test_no_more_elements_start_than_there_is_room_for() -> None:
    queue = AsyncQueue(2, ordered=False)
    queue.add(elements(1, 2, 3))
    assert queue.startable == 2
    first, second = started(queue)
    assert queue.startable == 0
    queue.complete(second, [])
    assert [element.value for element in started(queue)] == [3]
    assert (taken(queue), [element.value for element in queue.pending]) == ([2], [1, 3])
    queue.complete(first, [])
    assert taken(queue) == [1]


def test_in_ordered_mode_results_wait_for_those_before_and_keep_their_room() -> None:
    queue = AsyncQueue(2, ordered=True)
    queue.add(elements(1, 2, 3))
    first, second = started(queue)
    queue.complete(second, ["b"])
    assert (taken(queue), queue.startable) == ([], 0)
    queue.complete(first, ["a"])
    assert (taken(queue), queue.startable) == ([1, 2], 1)


def test_in_unordered_mode_results_do_not_overtake_a_watermark() -> None:
    queue = AsyncQueue(10, ordered=False)
    queue.add(elements(1, 2))
    queue.end_segment(100)
    queue.add(elements(3))
    one, two, three = started(queue)
    queue.complete(three, [])
    queue.complete(two, [])
    assert (taken(queue), queue.watermark) == ([2], MIN_WATERMARK)
    queue.complete(one, [])
    assert (taken(queue), queue.watermark) == ([1, 3], 100)


def test_watermarks_with_nothing_between_them_become_one() -> None:
    queue = AsyncQueue(10, ordered=False)
    queue.end_segment(1)
    assert queue.watermark == 1
    queue.add(elements(1))
    for watermark in (2, 3, 4):
        queue.end_segment(watermark)
    assert queue.watermark == 1
    (element,) = started(queue)
    queue.complete(element, [])
    assert queue.watermark == 4


@given(
    ordered=st.booleans(),
    capacity=st.integers(1, 5),
    steps=st.lists(st.one_of(st.integers(1, 4), st.just("watermark"), st.just("take")), max_size=30),
    data=st.data(),
)
def test_every_history_keeps_the_order_the_room_and_the_watermarks(
    ordered: bool, capacity: int, steps: list[Any], data: st.DataObject
) -> None:
    queue = AsyncQueue(capacity, ordered)
    running: list[Element] = []
    out: list[int] = []
    behind: dict[int, int] = {}  # how many elements came before each watermark
    added = 0

    def go_on() -> None:
        running.extend(started(queue))
        assert len(running) <= capacity
        if running:
            queue.complete(running.pop(data.draw(st.integers(0, len(running) - 1))), [])

    def look() -> None:
        out.extend(taken(queue))
        for watermark, count in behind.items():
            if queue.watermark < watermark:
                assert all(number < count for number in out) or ordered
            else:
                assert set(range(count)) <= set(out)

    for step in steps:
        if step == "watermark":
            behind[len(behind)] = added
            queue.end_segment(len(behind) - 1)
        elif step == "take":
            look()
        else:
            queue.add(elements(*range(added, added + step)))
            added += step
        go_on()
    while len(queue.output) < len(queue.pending):
        go_on()
    look()
    assert out == list(range(added)) if ordered else sorted(out) == list(range(added))
    assert queue.watermark == (len(behind) - 1 if behind else MIN_WATERMARK)
    assert not queue.pending

"""``sum``, ``min``, ``max``, ``min_by`` and ``max_by`` of windows: by place and by name, of keyed and other streams."""

from __future__ import annotations

from typing import Any

import pytest

from rekindle.common import Types
from rekindle.datastream import StreamExecutionEnvironment, WindowedStream
from rekindle.datastream.window import CountEvictor
from rekindle.datastream.windowed_stream import AllWindowedStream
from support.in_process_job import InProcessJob, collect

RECORDS = [("a", 3, 1), ("a", 1, 2), ("a", 9, 3), ("a", 1, 4), ("a", 9, 5)]
TUPLE = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
ROW = Types.ROW_NAMED(["k", "v", "w"], [Types.STRING(), Types.LONG(), Types.LONG()])
EXPECTED: dict[str, tuple[str, tuple[Any, ...], Any]] = {
    "sum": ("sum", (), ("a", 23, 1)),
    "min": ("min", (), ("a", 1, 1)),
    "max": ("max", (), ("a", 9, 1)),
    "the first of the least": ("min_by", (), ("a", 1, 2)),
    "the last of the least": ("min_by", (False,), ("a", 1, 4)),
    "the first of the greatest": ("max_by", (), ("a", 9, 3)),
    "the last of the greatest": ("max_by", (False,), ("a", 9, 5)),
}


def windows(type_info: Any, keyed: bool) -> WindowedStream | AllWindowedStream:
    stream = StreamExecutionEnvironment().from_collection(RECORDS, type_info=type_info)
    return stream.key_by(lambda record: record[0]).count_window(5) if keyed else stream.count_window_all(5)


def results(stream: Any) -> list[Any]:
    collect(stream)
    with InProcessJob(stream.get_execution_environment()) as job:
        return job.run_to_end()


@pytest.mark.parametrize("keyed", [True, False], ids=["keyed", "all"])
@pytest.mark.parametrize("name", EXPECTED)
def test_a_window_gives_one_result(name: str, keyed: bool) -> None:
    method, more, expected = EXPECTED[name]
    assert results(getattr(windows(TUPLE, keyed), method)(1, *more)) == [expected]
    (row,) = results(getattr(windows(ROW, keyed), method)("v", *more))
    assert tuple(row) == expected


def test_the_result_has_the_type_of_the_stream() -> None:
    assert windows(TUPLE, True).sum(1).get_type() == TUPLE


def test_an_evictor_goes_first() -> None:
    assert results(windows(TUPLE, True).evictor(CountEvictor.of(2)).sum(1)) == [("a", 10, 4)]

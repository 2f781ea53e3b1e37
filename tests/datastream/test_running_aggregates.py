"""Running aggregations of keyed streams, and projections. The expected results are PyFlink's own."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.common import Row, Types
from rekindle.datastream import DataStream, StreamExecutionEnvironment
from rekindle.exceptions import InvalidProgramError
from rekindle.runtime.slot.failure import OperatorError
from rekindle.types.spark_rows import row_maker
from support.in_process_job import InProcessJob, collect

RECORDS = [("a", 3, 1), ("a", 1, 2), ("b", 5, 3), ("a", 1, 4), ("a", 9, 5)]
ROW = Types.ROW_NAMED(["k", "v", "w"], [Types.STRING(), Types.INT(), Types.INT()])
TUPLE = Types.TUPLE([Types.STRING(), Types.INT(), Types.INT()])
UPDATES = {
    "sum": [("a", 3, 1), ("a", 4, 1), ("b", 5, 3), ("a", 5, 1), ("a", 14, 1)],
    "min": [("a", 3, 1), ("a", 1, 1), ("b", 5, 3), ("a", 1, 1), ("a", 1, 1)],
    "max": [("a", 3, 1), ("a", 3, 1), ("b", 5, 3), ("a", 3, 1), ("a", 9, 1)],
    "min_by": [("a", 3, 1), ("a", 1, 2), ("b", 5, 3), ("a", 1, 2), ("a", 1, 2)],
    "max_by": [("a", 3, 1), ("a", 3, 1), ("b", 5, 3), ("a", 3, 1), ("a", 9, 5)],
}
OF_NUMBERS = {
    "sum": [3, 4, 8, 9, 14],
    "min": [3, 1, 1, 1, 1],
    "max": [3, 3, 4, 4, 5],
    "min_by": [3, 1, 1, 1, 1],
    "max_by": [3, 3, 4, 4, 5],
}
EACH = pytest.mark.parametrize("method", UPDATES)


class Named(NamedTuple):
    k: str
    v: int
    w: int


@dataclasses.dataclass
class Plain:
    k: str
    v: int
    w: int


def results(build: Callable[[StreamExecutionEnvironment], DataStream], parallelism: int = 1) -> list[Any]:
    env = StreamExecutionEnvironment()
    collect(build(env))
    with InProcessJob(env, parallelism) as job:
        return job.run_to_end(2)


def key_of(record: Any) -> Any:
    return record[0]


@EACH
def test_every_record_gives_the_aggregate_so_far(method: str) -> None:
    assert results(lambda env: getattr(env.from_collection(RECORDS).key_by(key_of), method)(1)) == UPDATES[method]


@EACH
@pytest.mark.parametrize("position", [1, "v"])
def test_a_field_of_a_row_has_a_place_and_a_name(method: str, position: int | str) -> None:
    rows = results(lambda env: getattr(env.from_collection(RECORDS, ROW).key_by(key_of), method)(position))
    assert rows == [Row(k=k, v=v, w=w) for k, v, w in UPDATES[method]]


@EACH
@pytest.mark.parametrize("make", [Named, lambda *fields: row_maker(("k", "v", "w"))(fields)], ids=["named", "spark"])
def test_named_tuples_and_rows_of_data_frames_keep_their_class(method: str, make: Any) -> None:
    records = [make(*fields) for fields in RECORDS]
    updates = results(lambda env: getattr(env.from_collection(records).key_by(key_of), method)("v"))
    assert updates == [make(*fields) for fields in UPDATES[method]]
    assert {type(update) for update in updates} == {type(records[0])}


@EACH
def test_a_field_of_a_dataclass_has_a_name(method: str) -> None:
    records = [Plain(*fields) for fields in RECORDS]
    updates = results(lambda env: getattr(env.from_collection(records).key_by(lambda r: r.k), method)("v"))
    assert updates == [Plain(*fields) for fields in UPDATES[method]]


@EACH
def test_a_list_is_as_good_as_a_tuple(method: str) -> None:
    records = [list(fields) for fields in RECORDS]
    updates = results(lambda env: getattr(env.from_collection(records).key_by(key_of), method)(1))
    assert updates == [list(fields) for fields in UPDATES[method]]


@EACH
@pytest.mark.parametrize("type_info", [None, Types.INT()])
def test_a_number_is_its_own_field(method: str, type_info: Any) -> None:
    stream = [3, 1, 4, 1, 5]
    keyed = lambda env: env.from_collection(stream, type_info).key_by(lambda number: 0)  # noqa: E731
    assert results(lambda env: getattr(keyed(env), method)()) == OF_NUMBERS[method]


@pytest.mark.parametrize(
    ("records", "position", "words"),
    [
        ([3, 1], 1, "one value"),
        ([(1, 2), (3, 4)], 7, "does not have"),
        ([(1, 2), (3, 4)], "v", "does not have"),
        ([Row(1, 2), Row(3, 4)], "v", "does not have"),
    ],
)
def test_a_field_that_is_not_there_fails_the_job_with_words(records: list[Any], position: Any, words: str) -> None:
    with pytest.raises(OperatorError) as raised:
        results(lambda env: env.from_collection(records).key_by(lambda record: 0).sum(position))
    assert isinstance(raised.value.__cause__, InvalidProgramError)
    assert words in str(raised.value.__cause__)


@pytest.mark.parametrize("windowed", [False, True])
@pytest.mark.parametrize(
    ("record", "words"),
    [
        (Named("a", 1, 2), "; it has 'k', 'v', 'w'"),
        (Plain("a", 1, 2), "; it has 'k', 'v', 'w'"),
        (Row(k="a", v=1, w=2), "; it has 'k', 'v', 'w'"),
        (("a", 1, 2), "does not have"),
    ],
)
def test_a_misspelt_field_fails_at_the_first_record(record: Any, words: str, windowed: bool) -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        keyed = env.from_collection([record]).key_by(lambda each: 0)
        return (keyed.count_window(5) if windowed else keyed).sum("amuont")

    with pytest.raises(OperatorError) as raised:
        results(build)
    assert words in str(raised.value.__cause__)


@EACH
@pytest.mark.parametrize(
    ("type_info", "position", "words"),
    [
        (ROW, "amuont", "; it has 'k', 'v', 'w'"),
        (ROW, 3, "; it has 'k', 'v', 'w'"),
        (TUPLE, 3, "that records of type TupleTypeInfo"),
        (Types.INT(), 1, "that records of type"),
        (Named, "amuont", "; it has 'k', 'v', 'w'"),
        (Plain, "amuont", "; it has 'k', 'v', 'w'"),
    ],
)
def test_where_the_type_is_known_a_misspelt_field_is_refused_at_once(
    method: str, type_info: Any, position: Any, words: str
) -> None:
    keyed = StreamExecutionEnvironment().from_collection([], type_info).key_by(lambda each: 0)
    for stream in (keyed, keyed.count_window(5)):
        with pytest.raises(InvalidProgramError, match=re.escape(words)):
            getattr(stream, method)(position)


@EACH
def test_a_position_that_is_neither_place_nor_name_is_refused_at_once(method: str) -> None:
    keyed = StreamExecutionEnvironment().from_collection(RECORDS).key_by(key_of)
    with pytest.raises(TypeError, match=f"{method} takes the place of a field"):
        getattr(keyed, method)(1.5)


@EACH
def test_the_type_of_the_stream_stays(method: str) -> None:
    keyed = StreamExecutionEnvironment().from_collection(RECORDS, TUPLE).key_by(key_of)
    assert getattr(keyed, method)(1).get_type() == TUPLE


@EACH
@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("then", [1, 3])
def test_the_aggregate_goes_on_after_a_restore_at_any_parallelism(
    method: str, typed: bool, then: int, tmp_path: Path
) -> None:
    records = [(f"key {n * 7 % 5}", n * 31 % 17, n) for n in range(40)]

    def job(parallelism: int, **settings: Any) -> InProcessJob:
        env = StreamExecutionEnvironment()
        keyed = env.from_collection(records, TUPLE if typed else None).key_by(key_of)
        collect(getattr(keyed, method)(1))
        return InProcessJob(env, parallelism, files=LocalCheckpointFiles(str(tmp_path)), **settings)

    with job(2) as first:
        first.run_epoch(25)
        before = list(first.collected)
        checkpoint = first.checkpoint()
        first.run_epoch(5)  # lost
    with job(then, restore=checkpoint) as second:
        after = second.run_to_end(4)

    def best(seen: list[Any]) -> Any:
        fields = [record[1] for record in seen]
        match method:
            case "sum":
                return (*seen[0][:1], sum(fields), *seen[0][2:])
            case "min" | "max":
                return (*seen[0][:1], min(fields) if method == "min" else max(fields), *seen[0][2:])
        return seen[fields.index(min(fields) if method == "min_by" else max(fields))]

    golden = [best([r for r in records[: n + 1] if r[0] == records[n][0]]) for n in range(40)]
    assert sorted(before + after) == sorted(golden)


class TestProject:
    def test_fields_come_in_the_order_in_which_they_are_named(self) -> None:
        assert results(lambda env: env.from_collection(RECORDS, TUPLE).project(2, 0)) == [(w, k) for k, _, w in RECORDS]

    def test_one_field_makes_tuples_of_one_and_may_stand_twice(self) -> None:
        assert results(lambda env: env.from_collection(RECORDS, TUPLE).project(1)) == [(v,) for _, v, _ in RECORDS]
        assert results(lambda env: env.from_collection(RECORDS, TUPLE).project(1, 1)) == [(v, v) for _, v, _ in RECORDS]

    def test_the_type_is_that_of_the_fields(self) -> None:
        env = StreamExecutionEnvironment()
        assert env.from_collection(RECORDS, TUPLE).project(2, 0).get_type() == Types.TUPLE(
            [Types.INT(), Types.STRING()]
        )
        rows = env.from_collection(RECORDS, ROW).project(2, 0).get_type()
        assert rows.get_field_names() == ["w", "k"]  # type: ignore[attr-defined]

    def test_rows_keep_the_names_of_their_fields(self) -> None:
        assert results(lambda env: env.from_collection(RECORDS, ROW).project(2, 0)) == [
            Row(w=w, k=k) for k, _, w in RECORDS
        ]

    def test_a_keyed_stream_can_be_projected(self) -> None:
        keyed = lambda env: env.from_collection(RECORDS, TUPLE).key_by(key_of)  # noqa: E731
        assert sorted(results(lambda env: keyed(env).project(2), 2)) == [(1,), (2,), (3,), (4,), (5,)]

    @pytest.mark.parametrize(
        ("type_info", "places", "words"),
        [
            (None, (0,), "Only Tuple DataStreams can be projected"),
            (TUPLE, (3,), "the fields are 0 to 2"),
            (TUPLE, (-1,), "the fields are 0 to 2"),
            (TUPLE, ("k",), "the fields are 0 to 2"),
            (TUPLE, (), "at least one field"),
            (ROW, (1, 1), "duplicate field names"),
        ],
    )
    def test_what_cannot_be_projected_is_refused_at_once(self, type_info: Any, places: Any, words: str) -> None:
        stream = StreamExecutionEnvironment().from_collection(RECORDS, type_info)
        with pytest.raises(InvalidProgramError, match=words):
            stream.project(*places)

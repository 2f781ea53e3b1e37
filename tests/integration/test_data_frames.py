"""DataFrames as sources, on real Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql.streaming import StatefulProcessor

from rekindle.columns.traced_keys import traced_key
from rekindle.datastream import MapFunction
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.exceptions import InvalidProgramError, SparkSetupError
from rekindle.graph.job_graph import JobGraph
from rekindle.runtime.spark.described_frames import load_data_frames
from support.balances import assert_exactly_once, environment, numbering_job

pytestmark = pytest.mark.usefixtures("no_slots_left")


class Numbered(MapFunction):
    """Give each record a number within its key, and the subtask it was seen at."""

    def open(self, runtime_context: Any) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", None))
        self._subtask = runtime_context.get_index_of_this_subtask()

    def map(self, value: Any) -> Any:
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        return self._subtask, count, tuple(value)


@pytest.fixture(scope="module")
def files(spark: Any, tmp_path_factory: Any) -> str:
    """Write 6 parquet files of rows with keys of several types."""
    path = str(tmp_path_factory.mktemp("files") / "events")
    spark.range(3_000).selectExpr(
        "id", "id % 7 as number", "cast(id % 5 as int) as small", "if(id % 11 = 0, null, concat('k', id % 11)) as text"
    ).repartition(6).write.parquet(path)
    return path


def stream(spark: Any, path: str, per_epoch: int = 2) -> Any:
    schema = "id long, number long, small int, text string"
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", per_epoch).parquet(path)


KEYS = {
    "long": lambda row: row.number,
    "int": lambda row: row["small"],
    "nullable text": lambda row: row.text,
    "by position": lambda row: row[1],
    "tuple": lambda row: (row.text, row.small),
}


def opaque(selector: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Make a selector that gives the same key, but does more than name columns."""
    return lambda row: selector(row) if row.id >= 0 else None


@pytest.fixture(scope="module")
def numbered(spark: Any, files: str) -> dict[tuple[str, str], list[Any]]:
    """Number the rows by every key, routed by Spark and by Python: a source each, all in one job for each way."""
    results: dict[tuple[str, str], list[Any]] = {(way, name): [] for way in ("spark", "python") for name in KEYS}
    for way in ("spark", "python"):
        env = environment(spark, None)
        streams = [
            env.from_data_frame(stream(spark, files), uid=name, bounded=True)
            .key_by(selector if way == "spark" else opaque(selector))
            .map(Numbered())
            .map(lambda numbered, name=name: (name, *numbered))
            for name, selector in KEYS.items()
        ]
        for name, *result in streams[0].union(*streams[1:]).execute_and_collect():
            results[way, name].append(result)
    return results


@pytest.mark.parametrize("name", KEYS)
def test_rows_routed_by_spark_and_by_python_meet_the_same_state(
    numbered: dict[tuple[str, str], list[Any]], name: str
) -> None:
    selector = KEYS[name]
    assert traced_key(selector, ("id", "number", "small", "text")) is not None, "the fast way was not taken"
    assert traced_key(opaque(selector), ("id", "number", "small", "text")) is None
    by_key: dict[Any, list[int]] = {}
    subtasks: dict[Any, set[int]] = {}
    for subtask, count, row in numbered["spark", name]:
        key = selector(dict_row(row))
        by_key.setdefault(key, []).append(count)
        subtasks.setdefault(key, set()).add(subtask)
    assert sorted(row[0] for _, _, row in numbered["spark", name]) == list(range(3_000))
    assert all(sorted(counts) == list(range(1, len(counts) + 1)) for counts in by_key.values())
    python_subtasks = {selector(dict_row(row)): {subtask} for subtask, _, row in numbered["python", name]}
    assert subtasks == python_subtasks, "Spark and Python disagree about who owns a key"


def dict_row(values: tuple[Any, ...]) -> Any:
    from rekindle.types.spark_rows import row_maker

    return row_maker(("id", "number", "small", "text"))(values)


def test_a_selector_that_does_more_than_name_columns_is_not_routed_by_spark() -> None:
    columns = ("a", "b")
    assert traced_key(lambda row: row.a, columns) == 0
    assert traced_key(lambda row: (row.b, row["a"]), columns) == (1, 0)
    for opaque in (
        lambda row: row.a + 1,
        lambda row: str(row.a),
        lambda row: row,
        lambda row: "x",
        lambda row: row.a if row.b else 0,
        lambda row: row.a == 1,
        lambda row: row.missing,
        lambda row: (),
        lambda row: row[0:1],
    ):
        assert traced_key(opaque, columns) is None


def test_a_bounded_data_frame_is_read_whole(spark: Any, files: str) -> None:
    env = environment(spark, None)
    source = env.from_data_frame(spark.read.parquet(files), uid="events")
    result = Counter(
        number for _, _, (_, number, _, _) in source.key_by(lambda r: r.number).map(Numbered()).execute_and_collect()
    )
    assert result == Counter(i % 7 for i in range(3_000))


def test_a_function_makes_the_data_frame_once_for_each_session(spark: Any) -> None:
    env = environment(spark, None)
    assert env.spark_session is spark
    sessions = []

    def numbers(session: Any) -> Any:
        sessions.append(session)
        return session.range(5)

    stream = env.from_data_frame(numbers, uid="numbers").map(lambda row: row.id)
    assert sorted(stream.execute_and_collect()) == [0, 1, 2, 3, 4]
    assert sessions == [spark]
    stream.print()
    (source,) = env._compile().cluster_sources
    other = spark.newSession()
    loaded = load_data_frames(JobGraph((), (), (source,)), spark)
    again = load_data_frames(loaded, other)
    assert [graph.cluster_sources[0].data_frame.sparkSession for graph in (loaded, again)] == [spark, other]
    assert sessions == [spark, other]


def test_a_function_that_makes_no_data_frame_is_refused(spark: Any) -> None:
    env = environment(spark, None)
    with pytest.raises(InvalidProgramError, match=r"DataFrame source 'numbers' must return a DataFrame, and .* list"):
        env.from_data_frame(lambda session: [1, 2], uid="numbers")


def test_streaming_bounded_and_hosted_sources_meet_in_one_job(spark: Any, files: str) -> None:
    env = environment(spark, None)
    first = env.from_data_frame(stream(spark, files), uid="first", bounded=True).map(lambda row: row.id)
    second = env.from_data_frame(spark.range(10_000, 10_100), uid="second").map(lambda row: row.id)
    third = env.from_collection(range(20_000, 20_050))
    result = sorted(first.union(second, third).map(lambda n: n).execute_and_collect())
    assert result == [*range(3_000), *range(10_000, 10_100), *range(20_000, 20_050)]


def test_a_stream_keeps_growing_until_it_is_cancelled(spark: Any, tmp_path: Any) -> None:
    directory = tmp_path / "in"
    directory.mkdir()
    (directory / "1.txt").write_text("a\nb\n")
    env = environment(spark, None)
    source = env.from_data_frame(spark.readStream.text(str(directory)), uid="lines")
    iterator = source.map(lambda row: row.value).execute_and_collect()
    with iterator:
        assert sorted([next(iterator), next(iterator)]) == ["a", "b"]
        (directory / "2.txt").write_text("c\n")
        assert next(iterator) == "c"


def test_a_failing_job_reads_files_again_from_the_checkpoint(spark: Any, tmp_path: Any) -> None:
    count = 3_000
    spark.range(1, count + 1).repartition(6).write.parquet(str(tmp_path / "events"))
    frame = spark.readStream.schema("id long").option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "events"))
    marker = tmp_path / "failed"

    def trouble(event: int, context: Any) -> None:
        if event > count // 2 and context.get_attempt_number() == 0 and not marker.exists():
            marker.write_text("x")
            raise RuntimeError("in the middle")

    env = environment(spark, str(tmp_path / "checkpoints"))
    source = env.from_data_frame(frame, uid="files", bounded=True).map(lambda row: row.id)
    numbering_job(env, count, str(tmp_path / "out"), trouble, source)
    env.execute()
    assert marker.exists()
    assert_exactly_once(count, str(tmp_path / "out"))


STATEFUL: dict[str, Callable[[Any], Any]] = {
    "aggregate": lambda lines: lines.groupBy("value").count(),
    "deduplicate": lambda lines: lines.dropDuplicates(),
    "transform": lambda lines: lines.groupBy("value").transformWithStateInPandas(
        StatefulProcessor, "value string", "update", "none"
    ),
}


@pytest.mark.parametrize("kind", STATEFUL)
def test_a_data_frame_with_state_of_sparks_own_is_refused(spark: Any, tmp_path: Any, kind: str) -> None:
    frame = STATEFUL[kind](spark.readStream.text(str(tmp_path)))
    env = environment(spark, None)
    env.from_data_frame(frame, uid="stateful").print()
    with pytest.raises(SparkSetupError, match="'stateful' holds a stateful operation"):
        env.execute()

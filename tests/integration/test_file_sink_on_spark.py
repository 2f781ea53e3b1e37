"""What a file sink writes, Spark reads from the same path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rekindle.common import Encoder
from rekindle.datastream.connectors.file_system import BucketAssigner, FileSink
from support.balances import environment

pytestmark = pytest.mark.usefixtures("no_slots_left")

EVERY_TYPE = {
    "boolean": "id = 1",
    "byte": "cast(-128 as tinyint)",
    "short": "cast(32767 as smallint)",
    "int": "cast(id as int)",
    "long": "9223372036854775807 - id",
    "float": "float(0.1)",
    "double": "if(id = 1, 1e300, -0.1d)",
    "nan": "double('NaN')",
    "infinity": "float('-Infinity')",
    "decimal": "cast('12345678901234567890123456789.012345678' as decimal(38, 9))",
    "string": r"concat('\"quoted\" é \n\t\\ 漢 🔥 ', id)",
    "char": "cast('a' as char(3))",
    "binary": "X'00FF0A'",
    "date": "date'0001-01-01'",
    "timestamp": "timestamp'1850-06-01 12:00:00.000001'",
    "timestamp_ntz": "timestamp_ntz'9999-12-31 23:59:59.999999'",
    "interval": "interval '-12 23:59:59.999999' day to second",
    "array": "array(1, null, cast(id as int))",
    "empty": "array()",
    "map": "map('a', named_struct('n', id), 'b', null)",
    "struct": "named_struct('x', date'2020-02-29', 'deep', array(named_struct('y', X'00')))",
    "null_struct": "if(id < 0, named_struct('x', 1), null)",
    "void": "null",
    "variant": """parse_json(concat('{"a": [', id, ', null]}'))""",
}


class ByParity(BucketAssigner):
    def get_bucket_id(self, value: Any, timestamp_or_now: int) -> str:
        return f"odd={value.int % 2}"


def test_spark_reads_what_was_written(spark: Any, tmp_path: Path) -> None:
    written = spark.range(5).selectExpr(*(f"{expression} as `{name}`" for name, expression in EVERY_TYPE.items()))
    env = environment(spark, None)
    rows = env.from_data_frame(written, uid="rows")
    rows.sink_to(FileSink.for_row_format(tmp_path / "rows").build())
    rows.sink_to(FileSink.for_row_format(tmp_path / "buckets").with_bucket_assigner(ByParity()).build())
    lines = FileSink.for_row_format(tmp_path / "lines", Encoder.simple_string_encoder()).build()
    rows.map(lambda row: f"line {row.int}").sink_to(lines)
    env.execute()

    def same(read: Any, expected: Any) -> None:
        assert sorted(map(str, read.collect())) == sorted(map(str, expected.collect()))

    read = spark.read.schema(written.schema).json(str(tmp_path / "rows"))
    comparable = [*(name for name in EVERY_TYPE if name != "variant"), "to_json(variant)"]
    same(read.selectExpr(*comparable), written.selectExpr(*comparable))
    same(spark.read.json(str(tmp_path / "buckets")).select("int", "odd"), written.selectExpr("int", "int % 2 as odd"))
    same(spark.read.text(str(tmp_path / "lines")), written.selectExpr("concat('line ', int) as value"))

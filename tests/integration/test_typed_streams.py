"""Streams with types: each line expected here was seen on PyFlink 2.3, for the same program."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import pytest

from rekindle.common import Row, TypeInformation, Types
from rekindle.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.exceptions import JobExecutionError
from support.balances import environment


def show(value: Any) -> str:
    """Show a value with the types of all that is in it."""
    if isinstance(value, Row):
        return f"Row{value.get_row_kind()}{value._fields}({', '.join(map(show, value))})"
    if type(value) is tuple:
        return f"({', '.join(map(show, value))},)"
    if type(value) is list:
        return f"[{', '.join(map(show, value))}]"
    if type(value) is dict:
        return f"{{{', '.join(f'{show(key)}: {show(element)}' for key, element in value.items())}}}"
    return f"{type(value).__name__}:{value!r}"


CROSSING: dict[str, tuple[TypeInformation | None, Any, str]] = {
    "BYTE": (Types.BYTE(), True, "int:1"),
    "SHORT": (Types.SHORT(), 1, "int:1"),
    "INT": (Types.INT(), True, "int:1"),
    "INT of a float": (Types.INT(), 1.5, "int:1"),
    "LONG": (Types.LONG(), 2**40, "int:1099511627776"),
    "FLOAT": (Types.FLOAT(), 0.1, "float:0.10000000149011612"),
    "FLOAT of an int": (Types.FLOAT(), 1, "float:1.0"),
    "DOUBLE": (Types.DOUBLE(), 0.1, "float:0.1"),
    "DOUBLE of a bool": (Types.DOUBLE(), True, "float:1.0"),
    "BOOLEAN": (Types.BOOLEAN(), 0, "bool:False"),
    "STRING": (Types.STRING(), "Grü", "str:'Grü'"),
    "STRING of None": (Types.STRING(), None, "NoneType:None"),
    "ROW": (
        Types.ROW([Types.INT(), Types.FLOAT(), Types.STRING()]),
        Row(None, None, None),
        "Row+I['f0', 'f1', 'f2'](NoneType:None, NoneType:None, NoneType:None)",
    ),
    "ROW_NAMED": (
        Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()]),
        Row(a=1, b="y"),
        "Row+I['a', 'b'](int:1, str:'y')",
    ),
    "BASIC_ARRAY": (Types.BASIC_ARRAY(Types.STRING()), ["a", None], "[str:'a', NoneType:None]"),
    "OBJECT_ARRAY": (Types.OBJECT_ARRAY(Types.TUPLE([Types.INT()])), [(1,)], "[(int:1,)]"),
    "BIG_DEC": (Types.BIG_DEC(), Decimal("1.10"), "Decimal:Decimal('1.10')"),
    "SQL_DATE": (Types.SQL_DATE(), datetime.date(2024, 1, 2), "date:datetime.date(2024, 1, 2)"),
    "BYTES": (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"ab", "bytes:b'ab'"),
    "no type": (None, [1, (2, 3)], "[int:1, (int:2, int:3,)]"),
    "no type, a Row": (None, Row(a=1), "Row+I['a'](int:1)"),
}

KEYS: dict[str, tuple[TypeInformation | None, list[Any], list[str]]] = {
    "LONG": (Types.LONG(), [1, True, 2], ["int:1 1", "int:1 2", "int:2 1"]),
    "LONG of floats": (Types.LONG(), [1, 1.0], ["int:1 1", "int:1 2"]),
    "DOUBLE": (Types.DOUBLE(), [1, 1.0, True], ["float:1.0 1", "float:1.0 2", "float:1.0 3"]),
    "FLOAT": (Types.FLOAT(), [0.1], ["float:0.10000000149011612 1"]),
    "TUPLE": (
        Types.TUPLE([Types.STRING(), Types.DOUBLE()]),
        [("a", 1), ("a", 1.0)],
        ["(str:'a', float:1.0,) 1", "(str:'a', float:1.0,) 2"],
    ),
    "ROW": (
        Types.ROW([Types.STRING(), Types.INT()]),
        [Row("a", 1), Row("a", 1)],
        ["Row+I['f0', 'f1'](str:'a', int:1) 1", "Row+I['f0', 'f1'](str:'a', int:1) 2"],
    ),
    "STRING": (Types.STRING(), ["a", None], ["NoneType:None 1", "str:'a' 1"]),
    "none": (None, [1, 1.0, True], ["bool:True 3", "float:1.0 2", "int:1 1"]),
}


class CountPerKey(KeyedProcessFunction):
    def __init__(self, label: str) -> None:
        self._label = label

    def open(self, runtime_context: Any) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value: int, ctx: Any) -> Iterable[tuple[str, str]]:
        self._count.update((self._count.value() or 0) + 1)
        yield self._label, f"{show(ctx.get_current_key())} {self._count.value()}"


def shown(stream: DataStream, label: str) -> DataStream:
    return stream.map(lambda value: (label, show(value)))


def floats(env: StreamExecutionEnvironment, *values: float) -> DataStream:
    return env.from_collection(values).map(lambda value: value, output_type=Types.FLOAT())


@pytest.mark.parametrize("parallelism", [1, 2])
def test_records_and_keys_are_what_pyflink_makes_of_them(local_cluster: Any, parallelism: int) -> None:
    env = environment(local_cluster, None).set_parallelism(parallelism)
    streams = []
    expected: list[tuple[str, str]] = []
    for name, (type_info, value, line) in CROSSING.items():
        stream = env.from_collection([value]).map(lambda value: value, output_type=type_info)
        streams.append(shown(stream.rebalance(), f"{name}, rebalanced"))
        streams.append(shown(stream.key_by(lambda value: 1).map(lambda value: value), f"{name}, keyed"))
        expected += [(f"{name}, rebalanced", line), (f"{name}, keyed", line)]
    for name, (key_type, keys, lines) in KEYS.items():
        numbers = env.from_collection(list(range(len(keys))))
        streams.append(numbers.key_by(keys.__getitem__, key_type=key_type).process(CountPerKey(f"key {name}")))
        expected += [(f"key {name}", line) for line in lines]
    rounded = "float:0.10000000149011612"
    sums = floats(env, 0.1, 0.2).key_by(lambda value: 1).reduce(lambda one, other: one + other)
    collection = env.from_collection([(1, "a"), Row(2, None)], Types.ROW([Types.INT(), Types.STRING()]))
    streams += [
        shown(floats(env, 0.1).union(floats(env, 0.2)), "union"),
        shown(floats(env, 0.1).filter(lambda value: True).rebalance(), "filter"),
        shown(sums, "reduce"),
        shown(collection, "collection"),
        shown(floats(env, 0.1).set_parallelism(1).map(lambda value: value).set_parallelism(1), "chain"),
    ]
    expected += [
        ("union", rounded),
        ("union", "float:0.20000000298023224"),
        ("filter", rounded),
        ("reduce", rounded),
        ("reduce", "float:0.30000000447034836"),
        ("collection", "Row+I['f0', 'f1'](int:1, str:'a')"),
        ("collection", "Row+I['f0', 'f1'](int:2, NoneType:None)"),
        ("chain", "float:0.1"),
    ]
    with streams[0].union(*streams[1:]).execute_and_collect() as result:
        assert sorted(result) == sorted(expected)


def test_the_driver_sees_records_as_pyflinks_does(local_cluster: Any) -> None:
    env = environment(local_cluster, None).set_parallelism(2)
    type_info = Types.TUPLE(
        [
            Types.FLOAT(),
            Types.LIST(Types.FLOAT()),
            Types.MAP(Types.STRING(), Types.FLOAT()),
            Types.ROW([Types.FLOAT()]),
            Types.BOOLEAN(),
        ]
    )
    value = (0.1, [0.1], {"a": 0.1}, Row(0.1), 1)
    stream = env.from_collection([0]).map(lambda _: value, output_type=type_info)
    (record,) = stream.execute_and_collect()
    assert show(record) == "(float:0.1, [float:0.1], {str:'a': float:0.1}, Row+I['f0'](float:0.1), bool:True,)"


def test_a_record_that_does_not_fit_its_type_fails_the_job_and_is_named(local_cluster: Any) -> None:
    env = environment(local_cluster, None, restarts=0)
    env.from_collection([0]).map(lambda _: "seven", output_type=Types.INT()).name("counting").rebalance().print()
    with pytest.raises(JobExecutionError) as raised:
        env.execute()
    text = f"{raised.value}\n{raised.value.__cause__}"
    assert "SerializationError" in text
    assert "'counting'" in text
    assert "'seven'" in text
    assert "INT" in text

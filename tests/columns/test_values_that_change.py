"""Programs that change what a function uses while they run: each gives with columns what it gives without.

Each is a module of its own, which is imported anew for each run; once it is pickled by name, once by value.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import cloudpickle
import pyarrow as pa
import pytest

from rekindle.testing import local_environment
from support.column_cases import exact

ROWS = pa.table(
    {
        "k": [0, 1, 0, 1, 2],
        "a": [3, 0, -7, 5, 5],
        "b": [1, 2, 0, 3, 4],
        "f": [0.0, -0.0, 1.5, float("nan"), 2.0],
        "t": [-150, -50, 0, 50, 1 << 40],
    }
)
HEADER = """
import functools
import sys
from typing import Any
from rekindle.common import Time, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import AggregateFunction, MapFunction
from rekindle.datastream.window import TumblingEventTimeWindows

RATE = 1

class RowTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value.t

class Base(AggregateFunction):
    factor = 3
    def create_accumulator(self): return 0, 0
    def add(self, value, accumulator): return accumulator[0] + value.b * self.factor, accumulator[1] + 1
    def get_result(self, accumulator): return accumulator
    def merge(self, acc_a, acc_b): return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]

def windowed(rows, function):
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(RowTime())
    keyed = rows.assign_timestamps_and_watermarks(strategy).key_by(lambda row: row.k)
    return keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(100))).aggregate(function)

def last(stream):
    return stream.key_by(lambda pair: pair[0]).reduce(lambda one, other: (one[0], other[1]))

def rated(row):
    return row.k, row.b + RATE

def with_default(x, more=1):
    return x + more

class Mapped(MapFunction):
    rate = 1
    def __init__(self): self.own = 1
    def map(self, value): return value.k, self.second(value.b) * self.rate + self.own
    def second(self, number): return number + 1
"""
AGGREGATES = {
    "get_result": "def get_result(self, accumulator):\n        self.factor += 1\n        return accumulator",
    "create_accumulator": "def create_accumulator(self):\n        type(self).factor += 1\n        return 0, 0",
    "a loop over attributes": (
        "def get_result(self, accumulator):\n        for self.factor in (1, 2):\n            pass\n"
        "        return accumulator"
    ),
    "__dict__": "def get_result(self, accumulator):\n        self.__dict__['factor'] = 9\n        return accumulator",
    "setattr": "def get_result(self, accumulator):\n        setattr(self, 'factor', 9)\n        return accumulator",
}
GLOBALS = {
    "a global": "global RATE\n        RATE += 1",
    "a global by globals()": "globals()['RATE'] += 1",
    "a global by its module": "sys.modules[__name__].RATE += 1",
    "a global by setattr": "setattr(sys.modules[__name__], 'RATE', RATE + 1)",
    "a global by exec": "exec('RATE += 1', globals())",
    "a global by another function": "rated.__globals__['RATE'] += 1",
}
LATER = {
    "Mapped()": {
        "a class attribute": "Mapped.rate += 1",
        "a method": "Mapped.second = lambda self, number: number - 1",
        "the method itself": "Mapped.map = lambda self, value: (value.k, 99)",
        "a class attribute by type": "type.__setattr__(Mapped, 'rate', 5)",
    },
    "rated": {**GLOBALS, "code": "rated.__code__ = (lambda row: (row.k, 77)).__code__"},
    "lambda row: (row.k, row.a * RATE)": GLOBALS,
    "lambda row: (row.k, with_default(row.a))": {"a default": "with_default.__defaults__ = (7,)"},
}
ODD = {
    "of": (
        "def of(self, x):\n        CALLS.append(1)\n        return x\n"
        "    def map(self, row):\n        return row.k, self.of(row.b)"
    ),
    "_instance": (
        "def __init__(self): self._instance = Base()\n"
        "    def create_accumulator(self):\n        CALLS.append(1)\n        return 3, 4\n"
        "    def map(self, row):\n        return row.k, self._instance.create_accumulator()[0]"
    ),
    "truth": "def map(self, row): return row.k, row.a if self else row.b",
    "text": "def map(self, row): return row.k, f'{self.__class__.__name__}'",
    "comparison": "def map(self, row): return row.k, self == row.b",
    "functions": "def map(self, row): return row.k, last == last, rated != windowed",
    "format": "def map(self, row): return row.k, '{0.__class__}'.format(row.b)",
    "tuples": "def map(self, row): return row.k, (row.f, 1) == (row.f, 1)",
    "NaN itself": "def map(self, row): return row.k, row.f == row.f, row.f is row.f",
    "an alias": (
        "def kept(self, x):\n        CALLS.append(1)\n        return x\n"
        "    def map(self, row):\n        kept = Sly.kept\n        return row.k, kept(self, row.b)"
    ),
}
PROGRAMS = {
    **{
        f"an attribute changed by {name}": f"class Own(Base):\n    {text}\nprogram = lambda rows: windowed(rows, Own())"
        for name, text in AGGREGATES.items()
    },
    **{
        f"{name}, changed by a later operator, in {mapped}": (
            f"def changed():\n    def later(pair):\n        {text}\n        return pair\n    return [later]\n"
            f"later = changed()\nprogram = lambda rows: last(rows.map({mapped})).map(lambda pair: later[0](pair))"
        )
        for mapped, changes in LATER.items()
        for name, text in changes.items()
    },
    **{
        f"a class with {name}": (
            f"CALLS = []\nclass Sly(MapFunction):\n    {text}\nprogram = lambda rows: last(rows.map(Sly()))"
        )
        for name, text in ODD.items()
    },
}


@pytest.mark.parametrize("by_value", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_columns_give_what_records_give(
    name: str, by_value: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "changing_program.py").write_text(f"{HEADER}\n{PROGRAMS[name]}\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    def outcome(columns: bool) -> Any:
        settings = {"rekindle.columns.enabled": str(columns).lower(), "restart-strategy.type": "none"}
        env = local_environment(1, settings)
        importlib.invalidate_caches()
        module = importlib.import_module("changing_program")
        if by_value:
            cloudpickle.register_pickle_by_value(module)
        try:
            stream = module.program(env.from_data_frame([ROWS, ROWS], "rows"))
            env._compile()
            assert not getattr(module, "CALLS", []), "a function was called when the job was planned"
            return [exact(value) for value in stream.execute_and_collect()]
        except AssertionError:
            raise
        except Exception as error:
            return type(error.__cause__).__name__, str(error.__cause__).splitlines()[0]
        finally:
            if by_value:
                cloudpickle.unregister_pickle_by_value(module)
            del sys.modules["changing_program"]

    assert outcome(True) == outcome(False)

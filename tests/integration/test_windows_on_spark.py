"""Windows in a job on Spark: the slots find all they need, and windows cross an exchange."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from rekindle.common import Time
from rekindle.datastream import ProcessWindowFunction
from rekindle.datastream.window import CountEvictor, CountTrigger, GlobalWindows, TumblingProcessingTimeWindows
from support.balances import environment

pytestmark = pytest.mark.usefixtures("no_slots_left")


class WindowSum(ProcessWindowFunction):
    def process(self, key: int, context: Any, elements: Iterable[Any]) -> list[Any]:
        return [(key, context.window(), sum(n for _, n in elements))]


def test_windows_run_on_spark(spark: Any) -> None:
    env = environment(spark, None)
    keyed = env.from_collection([(n % 3, n) for n in range(60)]).key_by(lambda pair: pair[0])
    counted = keyed.count_window(10).process(WindowSum())
    last = keyed.window(GlobalWindows.create()).trigger(CountTrigger.of(20)).evictor(CountEvictor.of(2))
    never = keyed.window(TumblingProcessingTimeWindows.of(Time.days(10_000))).reduce(lambda a, b: b)
    windows = counted.union(last.process(WindowSum()), never)
    results = windows.key_by(lambda result: result[1]).map(lambda result: (result[0], str(result[1]), result[2]))
    with results.execute_and_collect() as found:
        assert sorted(found) == sorted(
            [
                (key, f"CountWindow(id={w})", sum(range(key + 30 * w, key + 30 * w + 30, 3)))
                for key in range(3)
                for w in (0, 1)
            ]
            + [(key, "GlobalWindow", key + 54 + key + 57) for key in range(3)]
        )

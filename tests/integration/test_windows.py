"""Windows in a job: the slots find all they need, and windows cross an exchange."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rekindle.common import Time
from rekindle.datastream import ProcessWindowFunction
from rekindle.datastream.window import CountEvictor, CountTrigger, GlobalWindows, TumblingProcessingTimeWindows
from support.balances import environment


class WindowSum(ProcessWindowFunction):
    def process(self, key: int, context: Any, elements: Iterable[Any]) -> list[Any]:
        return [(key, context.window(), sum(n for _, n in elements))]


def test_windows_cross_an_exchange(local_cluster: Any) -> None:
    env = environment(local_cluster, None)
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

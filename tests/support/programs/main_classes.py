"""Records, keys and state of classes that this script defines; a failure in the middle, so that state is restored.

After that, a job that fails for good.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rekindle.common import Configuration, RestartStrategies
from rekindle.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from rekindle.datastream.state import ValueStateDescriptor


@dataclass(frozen=True, order=True)
class Shop:
    name: str


@dataclass
class Sale:
    shop: Shop
    amount: int


@dataclass(frozen=True, order=True)
class Total:
    shop: Shop
    amount: int


class Totals(KeyedProcessFunction):
    def __init__(self, marker: str) -> None:
        self._marker = marker

    def open(self, runtime_context: Any) -> None:
        self._total = runtime_context.get_state(ValueStateDescriptor("total", Total))

    def process_element(self, value: Sale, ctx: Any) -> Iterator[Total]:
        assert isinstance(value, Sale)
        before = self._total.value() or Total(value.shop, 0)
        assert isinstance(before, Total)
        if value.amount == 3 and not os.path.exists(self._marker):
            with open(self._marker, "w"):
                pass
            raise RuntimeError("this once")
        total = Total(value.shop, before.amount + value.amount)
        self._total.update(total)
        yield total


def main() -> None:
    options = {"rekindle.progress": "log", "rekindle.epoch.max-records": "1"}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options))
    env.set_parallelism(2)
    env.enable_checkpointing(100)
    env.get_checkpoint_config().set_checkpoint_storage_dir(f"file://{sys.argv[1]}/checkpoints")
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 0))
    sales = [Sale(Shop("a"), 1), Sale(Shop("b"), 4), Sale(Shop("a"), 2), Sale(Shop("a"), 3)]
    stream = env.from_collection(sales).key_by(lambda sale: sale.shop).process(Totals(f"{sys.argv[1]}/failed"))
    totals: dict[Shop, Total] = {}
    for total in stream.execute_and_collect():
        totals[total.shop] = max(total, totals.get(total.shop, total))
    print("collected:", sorted(totals.values()))
    assert os.path.exists(f"{sys.argv[1]}/failed")
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict({"rekindle.progress": "log"}))
    env.set_parallelism(2)
    env.from_collection([1, 0]).rebalance().map(lambda n: 1 / n).print()
    env.execute("failing")


if __name__ == "__main__":
    main()

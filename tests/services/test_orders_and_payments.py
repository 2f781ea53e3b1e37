"""The programs orders_and_payments.py and orders_and_payments_v2.py of examples/, with a real broker.

Orders are files, payments are in Kafka. A slot is killed, the first version is stopped with a savepoint while orders
wait for their payments, and the second goes on. All that both have written is compared with what plain Python computes.

Once a source counts as idle, event time follows the others. So what is sent together lies within the half hour that
orders and payments wait for each other; what is to time out is sent when everything else has been matched.
"""

from __future__ import annotations

import json
import os
import random
import runpy
import signal
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

from rekindle.common import Configuration
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.runtime.master.job_master import JobMaster
from support.balances import read_output
from support.processes import slot_pids, wait_until
from support.seeds import seeded
from support.services.kafka import Broker

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CUSTOMERS = ("ada", "bob", "cyd", "dot")
MINUTE = 60_000
HOUR = 60 * MINUTE
SECONDS = 600.0  # only there to end a test that hangs


@dataclass
class Sent:
    """What was sent, and what is to come of it.

    Args:
        directory: Where the programs look for files.
        broker: Where they look for payments.
        rng: Draws orders.
    """

    directory: Path
    broker: Broker
    rng: random.Random
    orders: dict[str, dict[str, Any]] = field(default_factory=dict)
    paid: set[str] = field(default_factory=set)
    unmatched: set[tuple[str, str]] = field(default_factory=set)

    def draw(self, name: str, start: int, number: int = 30) -> list[dict[str, Any]]:
        """Draw orders of ten minutes."""
        return [
            {
                "id": f"{name}{place}",
                "customer": self.rng.choice(CUSTOMERS),
                "cents": self.rng.randint(1, 9_999),
                "time": start + self.rng.randrange(10 * MINUTE),
            }
            for place in range(number)
        ]

    def order(self, name: str, orders: Iterable[dict[str, Any]]) -> None:
        """Move a file with orders to where the program looks, as a whole."""
        orders = list(orders)
        self.orders |= {order["id"]: order for order in orders}
        written = self.directory / name
        written.write_text("".join(json.dumps(order) + "\n" for order in orders))
        written.rename(self.directory / "orders" / f"{name}.json")

    def pay(self, orders: Iterable[dict[str, Any]]) -> None:
        """Send payments within ten minutes."""
        orders = list(orders)
        self.paid |= {order["id"] for order in orders}
        self._produce((order["id"], order["time"] + self.rng.randrange(10 * MINUTE)) for order in orders)

    def let_time_pass(self, start: int, unpaid: Iterable[dict[str, Any]]) -> None:
        """Send an order and a payment of two hours later, and what comes too late: payments for half of some orders."""
        unpaid = list(unpaid)
        late = unpaid[::2]
        self._produce((order["id"], order["time"] + 40 * MINUTE) for order in late)
        self._produce([(f"unknown at {start}", start)])
        self.unmatched |= {(order["id"], "payment") for order in unpaid} | {(order["id"], "order") for order in late}
        self.unmatched.add((f"unknown at {start}", "order"))
        last = {"id": f"last since {start}", "customer": "eve", "cents": 1, "time": start + 2 * HOUR}
        self.order(f"last-{start}", [last])
        self.pay([last])

    def _produce(self, payments: Iterable[tuple[str, int]]) -> None:
        self.broker.produce("payments", [json.dumps({"order": order, "time": time}) for order, time in payments])

    def all_is_matched(self) -> bool:
        """Return whether every paid order can be seen."""
        return {order["id"] for order in rows(self.directory / "paid")} == self.paid

    def all_the_rest_is_told(self) -> bool:
        """Return whether everything without a counterpart can be seen."""
        return {(row["order"], row["missing"]) for row in rows(self.directory / "unmatched")} == self.unmatched


def rows(directory: Path) -> list[dict[str, Any]]:
    """Read the Parquet files of a directory that can be seen."""
    files = sorted(directory.glob("part-*"))
    return [row for file in files for row in pyarrow.parquet.read_table(file, partitioning=None).to_pylist()]


class Running:
    """A program that runs in a thread."""

    def __init__(self, ended: Future[Any], masters: list[JobMaster]) -> None:
        self._ended = ended
        self._masters = masters

    def wait_until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for a condition for as long as the program runs."""
        wait_until(lambda: self._ended.done() or condition(), what, SECONDS)
        assert not self._ended.done(), self._ended.exception()

    def stop(self, savepoints: Path) -> str:
        """Stop the job with a savepoint, wait for the end of the program, and return where the savepoint is."""
        savepoint = self._masters[-1].stop_with_savepoint(f"file://{savepoints}", False).result(SECONDS)
        self._ended.result(SECONDS)
        return savepoint


@contextmanager
def running(program: str, sent: Sent, spark: SparkSession, **settings: str) -> Iterator[Running]:
    """Run a program as ``rekindle run PROGRAM DIRECTORY BROKER`` does, on the session of the tests."""
    keys = {key.replace("__", "-").replace("_", "."): value for key, value in settings.items()}
    given = Configuration.from_dict({"rekindle.progress": "none", "rest.enabled": "false", **keys})
    environment = StreamExecutionEnvironment.get_execution_environment(given, spark)
    submit = StreamExecutionEnvironment._submit
    masters: list[JobMaster] = []

    def submitted(env: StreamExecutionEnvironment, *arguments: Any) -> JobMaster:
        masters.append(submit(env, *arguments))
        return masters[-1]

    with (
        patch.object(StreamExecutionEnvironment, "get_execution_environment", lambda: environment),
        patch.object(StreamExecutionEnvironment, "_submit", submitted),
        patch.object(sys, "argv", [program, str(sent.directory), sent.broker.bootstrap_servers]),
        ThreadPoolExecutor(1) as pool,
    ):
        try:
            yield Running(pool.submit(runpy.run_path, str(EXAMPLES / program), run_name="__main__"), masters)
        finally:
            for master in masters:
                master.cancel()


@pytest.mark.usefixtures("no_slots_left")
def test_every_order_counts_once_over_a_kill_and_an_upgrade(kafka: Broker, spark: SparkSession, tmp_path: Path) -> None:
    kafka.create_topic("payments", 2, {"retention.ms": "-1"})  # the payments are from 1970
    (tmp_path / "orders").mkdir()
    sent = Sent(tmp_path, kafka, seeded())
    first, more = sent.draw("first", 0), sent.draw("more", 5 * MINUTE)
    waiting, new = sent.draw("waiting", 3 * HOUR), sent.draw("new", 3 * HOUR)

    sent.pay(first[:20])
    sent.order("first", first)
    with running("orders_and_payments.py", sent, spark) as version:
        version.wait_until(sent.all_is_matched, "the first orders are matched")
        os.kill(sent.rng.choice(sorted(slot_pids())), signal.SIGKILL)
        sent.order("more", more)
        sent.pay([*more[:20], *first[20:25]])  # these orders have waited since before the failure
        version.wait_until(sent.all_is_matched, "more orders are matched")
        sent.let_time_pass(0, [*first[25:], *more[20:]])
        version.wait_until(sent.all_the_rest_is_told, "time has passed")
        sent.order("waiting", waiting)
        sent.pay(waiting[:1])
        version.wait_until(sent.all_is_matched, "the file with orders that are to wait has been read")
        savepoint = version.stop(tmp_path / "savepoints")
    by_the_first = set(sent.paid)
    seen_by_the_first = set(sent.unmatched)

    with running("orders_and_payments_v2.py", sent, spark, execution_state__recovery_path=savepoint) as version:
        sent.order("new", new)
        sent.pay([*waiting[1:20], *new[:20]])
        version.wait_until(sent.all_is_matched, "orders from before the upgrade are matched after it")
        sent.let_time_pass(3 * HOUR, [*waiting[20:], *new[20:]])
        version.wait_until(sent.all_the_rest_is_told, "time has passed again")
        version.stop(tmp_path / "savepoints")

    assert sent.all_is_matched()
    assert len(rows(tmp_path / "paid")) == len(sent.paid)
    assert len(rows(tmp_path / "unmatched")) == len(sent.unmatched)
    judge_totals(sent, spark.read.option("mergeSchema", True).parquet(f"{tmp_path}/totals").collect(), by_the_first)
    judge_reminders(sent, read_output(str(tmp_path / "reminders")), sent.unmatched - seen_by_the_first)


def judge_totals(sent: Sent, table: list[Any], by_the_first: set[str]) -> None:
    """Compare the table with the orders, in the sequence in which each customer's were counted."""
    assert sorted(row.order for row in table) == sorted(sent.paid), "each order that was paid is in the table once"
    by_customer = defaultdict(dict)
    for row in table:
        by_customer[row.customer][row.orders] = row
    for numbered in by_customer.values():
        assert sorted(numbered) == list(range(1, len(numbered) + 1)), "the second version counts on from the first"
        cents = largest = 0
        for _, row in sorted(numbered.items()):
            order = sent.orders[row.order]
            cents += order["cents"]
            assert (row.customer, row.cents) == (order["customer"], cents)
            if row.order in by_the_first:
                assert row.largest is None
            else:
                largest = max(largest, order["cents"])
                assert row.largest == largest, "the new field begins with its default"


def judge_reminders(sent: Sent, reminders: list[str], since: set[tuple[str, str]]) -> None:
    """Compare what the new operator wrote with the orders that were found to be unpaid since the upgrade."""
    unpaid = defaultdict(set)
    for order, missing in since:
        if missing == "payment":
            unpaid[sent.orders[order]["customer"]].add(order)
    expected = [
        f"{who} has left {number} orders unpaid"
        for who, orders in unpaid.items()
        for number in range(2, len(orders) + 1)
    ]
    assert sorted(line.partition(",")[0] for line in reminders) == sorted(expected)
    for line in reminders:
        customer, order = line.split()[0], line.removesuffix(" the last of them").rpartition(", ")[2]
        assert order in unpaid[customer]

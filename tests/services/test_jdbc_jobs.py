"""Jobs that write to a real PostgreSQL server while slots, drivers and the server die: each row once."""

from __future__ import annotations

import os
import random
import signal
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rekindle.common import RestartStrategies, Row, Types, WatermarkStrategy
from rekindle.contracts.connectors import Sink
from rekindle.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from rekindle.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcExactlyOnceOptions, JdbcSink
from rekindle.testing import LocalEnvironment, local_environment
from support.driver import driver
from support.faulty_sink import PLANS, FaultPlan, FaultySink, InjectedFault
from support.local_cluster import MASTER, executors
from support.local_cluster import own_work_directory as own_work_directory
from support.processes import tagged_pids, wait_until
from support.seeds import seeds
from support.services.postgres import PASSWORD, USER, PostgresServer

ROW = Types.ROW_NAMED(["name", "number"], [Types.STRING(), Types.INT()])
INSERT = "INSERT INTO t VALUES (?, ?)"
UPSERT = f"{INSERT} ON CONFLICT (name) DO UPDATE SET number = excluded.number"


class Target:
    """A table in a database of its own."""

    def __init__(self, server: PostgresServer) -> None:
        self.server = server
        self.database = f"jobs_{uuid.uuid4().hex[:8]}"
        self.connection = JdbcConnectionOptions(server.url(self.database), None, USER, PASSWORD)
        server.query("postgres", f"CREATE DATABASE {self.database}")
        self.query("CREATE TABLE t (name TEXT, number INTEGER)")

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        return self.server.query(self.database, sql)

    def count(self) -> int:
        return int(self.query("SELECT count(*) FROM t")[0][0])

    def prepared(self) -> list[str]:
        return [name for (name,) in self.query("SELECT gid FROM pg_prepared_xacts WHERE database = current_database()")]

    def assert_each_once(self, count: int) -> None:
        """Require that each number below a count is there once, and nothing is left prepared or open."""
        found = Counter(self.query("SELECT * FROM t"))
        expected = {(f"n{number}", number) for number in range(count)}
        lost, repeated = expected - found.keys(), {row: times for row, times in found.items() if times > 1}
        assert (len(lost), len(repeated), found.keys() - expected) == (0, 0, set()), (sorted(lost)[:5], repeated)
        assert self.prepared() == []

    def drop(self) -> None:
        for name in self.prepared():
            self.query(f"ROLLBACK PREPARED '{name}'")
        self.server.query("postgres", f"DROP DATABASE {self.database} WITH (FORCE)")


@pytest.fixture
def target(postgres: PostgresServer) -> Iterator[Target]:
    target = Target(postgres)
    yield target
    target.drop()


def numbers_job(
    directory: Path, sink: Sink, count: int, per_second: int = 500, parallelism: int = 2
) -> LocalEnvironment:
    env = local_environment(parallelism, {"execution.checkpointing.dir": str(directory / "checkpoints")})
    env.enable_checkpointing(20)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1000, 0))
    rate = RateLimiterStrategy.per_second(per_second)
    source = DataGeneratorSource(lambda number: Row(f"n{number}", number), count, ROW, rate)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    numbers.key_by(lambda row: row.name).map(lambda row: row, ROW).sink_to(sink).uid("table")
    return env


EXACTLY_ONCE: dict[str, Callable[[Target], Sink]] = {
    "prepared transactions": lambda target: JdbcSink.exactly_once_sink(INSERT, ROW, target.connection),
    "rows in the checkpoint": lambda target: JdbcSink.exactly_once_sink(
        INSERT, ROW, target.connection, None, JdbcExactlyOnceOptions.builder().with_rows_in_checkpoint().build()
    ),
}


@pytest.mark.parametrize("seed", seeds(1, 3))
@pytest.mark.parametrize("how", EXACTLY_ONCE)
def test_each_row_is_written_once_under_twenty_faults(target: Target, tmp_path: Path, how: str, seed: int) -> None:
    """Let attempts fail at all steps, slots vanish and stay as zombies, and the server crash."""
    print("seed", seed)
    count = 4000

    def fail() -> None:
        raise InjectedFault("injected")

    def lose_a_slot() -> None:
        for slot in env.cluster.running_slots[-1:]:
            env.cluster.kill_slot(slot)

    def crash_the_server() -> None:
        target.server.kill()
        target.server.start()

    plan = PLANS[how] = FaultPlan(random.Random(seed), 20, [fail, fail, lose_a_slot, crash_the_server])
    env = numbers_job(tmp_path, FaultySink(EXACTLY_ONCE[how](target), how), count)
    env.execute()
    print(plan.happened)
    assert plan.done, f"only {plan.happened}"
    target.assert_each_once(count)


def test_an_upsert_at_least_once_leaves_each_row_once_under_twenty_faults(target: Target, tmp_path: Path) -> None:
    target.query("CREATE UNIQUE INDEX ON t (name)")

    def fail() -> None:
        raise InjectedFault("injected")

    plan = PLANS["upsert"] = FaultPlan(random.Random(0), 20, [fail])
    sink = FaultySink(JdbcSink.sink(UPSERT, ROW, target.connection), "upsert")
    numbers_job(tmp_path, sink, 2000).execute()
    assert plan.done, f"only {plan.happened}"
    target.assert_each_once(2000)


@pytest.mark.parametrize(("before", "after"), [(3, 2), (2, 3)])
def test_a_job_goes_on_from_a_savepoint_with_another_parallelism(
    target: Target, tmp_path: Path, before: int, after: int
) -> None:
    sink = EXACTLY_ONCE["prepared transactions"](target)
    client = numbers_job(tmp_path, sink, 1500, 1500, before).execute_async()
    wait_until(lambda: target.count() > 100, "rows are visible")
    savepoint = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
    env = numbers_job(tmp_path, sink, 1500, 3000, after)
    env._configuration.set_string("execution.state-recovery.path", savepoint)
    env.execute()
    target.assert_each_once(1500)


def test_a_savepoint_that_was_left_behind_can_still_be_restored(target: Target, tmp_path: Path) -> None:
    """Cancel a job after a savepoint in passing, whose transactions no checkpoint may have committed yet."""
    sink = EXACTLY_ONCE["prepared transactions"](target)
    env = numbers_job(tmp_path, sink, 3000, 1000)
    client = env.execute_async()
    wait_until(lambda: target.count() > 100, "rows are visible")
    savepoint = client.trigger_savepoint(str(tmp_path / "savepoints")).result()
    seen = target.count()
    env.cluster.kill_slot(0)
    wait_until(lambda: target.count() > seen + 100, "the job goes on")
    client.cancel().result()
    written_after = {number for (number,) in target.query("SELECT number FROM t")}
    again = numbers_job(tmp_path, sink, 3000, 3000)
    again._configuration.set_string("execution.state-recovery.path", savepoint)
    again.execute()
    found = Counter(number for (number,) in target.query("SELECT number FROM t"))
    assert found.keys() == set(range(3000)), "nothing is lost"
    assert {number for number, times in found.items() if times > 1} <= written_after, "only what it had written"
    assert target.prepared() == []


@pytest.mark.spark
@pytest.mark.usefixtures("own_work_directory")
def test_each_row_is_written_once_on_spark_though_an_executor_and_the_driver_are_killed(
    target: Target, tmp_path: Path
) -> None:
    count = 12_000
    arguments = [target.connection.get_db_url(), USER, PASSWORD, str(count), str(tmp_path), MASTER]
    with driver("jdbc_numbers.py", *arguments) as running:
        wait_until(lambda: target.count() > 500 or running.process.poll() is not None, "rows are visible", 180)
        assert running.process.poll() is None, running.output()
        os.kill(executors(running.tag)[0], signal.SIGKILL)
        seen = target.count()
        wait_until(lambda: target.count() > seen + 1500 or running.process.poll() is not None, "it goes on", 120)
        assert running.process.poll() is None, running.output()
        running.process.kill()
        running.process.wait()
        assert PASSWORD not in running.output()
        wait_until(lambda: not tagged_pids(running.tag), "all its processes are gone", 60)
    assert 500 < target.count() < count
    checkpoints = sorted(tmp_path.glob("checkpoints/*/chk-*/_metadata"), key=lambda path: path.stat().st_mtime)
    restore = f"execution.state-recovery.path={checkpoints[-1].parent}"
    with driver("jdbc_numbers.py", *arguments, restore) as running:
        assert running.wait() == 0, running.output()
    target.assert_each_once(count)

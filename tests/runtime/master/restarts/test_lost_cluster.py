"""What becomes of a job when Spark is gone under it: what is seen of the loss, and what is left of the job.

tests/chaos/test_jvm_killed.py kills real JVMs.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError

from rekindle.common import Configuration, JobStatus, RestartStrategies
from rekindle.common.restart_strategy import RestartStrategyConfiguration
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.exceptions import JobExecutionError, SparkLostError, StopFailedError
from rekindle.runtime.master import job_master as job_master_module
from rekindle.runtime.master.cluster import ClusterLoss
from rekindle.runtime.master.job_master import JobMaster
from rekindle.runtime.master.restarts.restart_strategies import FixedDelayRestart
from rekindle.runtime.spark.spark_loss import how_it_ended, spark_loss
from rekindle.runtime.wire import messages as m
from support.balances import assert_exactly_once, numbering_job, read_output
from support.ha_drivers import latest_entry
from support.in_process_master import Cluster
from support.processes import wait_until

EVENTS = 8_000
KILLED = ClusterLoss("Spark's JVM (process 42) was killed by SIGKILL")
STOPPED = ClusterLoss("the SparkSession that it ran on was stopped (spark.stop())", wanted=True)


class Spark(Cluster):
    """Play Spark: it is lost, and started anew, when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.lost_by: ClusterLoss | None = None
        self.renewed = 0
        self.may_be_renewed = True
        self.refuses: list[Exception] = []

    def loss(self) -> ClusterLoss | None:
        return self.lost_by

    @property
    def renewable(self) -> bool:
        return self.may_be_renewed

    def renew(self) -> tuple[()]:
        if self.refuses:
            raise self.refuses.pop()
        self.renewed += 1
        self.lost_by = None
        return ()


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Spark]:
    monkeypatch.setattr(job_master_module, "driver_restarts", lambda random: FixedDelayRestart(2, 0))
    played = Spark()
    yield played
    played.lost_by = None
    played.end()


class Job:
    """The numbering job on the in-process cluster, as often as it is started; checkpoints are not retained."""

    def __init__(self, spark: Spark, directory: Path, ha: bool) -> None:
        self.spark, self._directory, self._ha = spark, directory, ha

    def start(
        self,
        strategy: RestartStrategyConfiguration | None = None,
        renewable: bool = True,
        **settings: str,
    ) -> JobMaster:
        """Start it."""
        options = {
            "rekindle.epoch.max-records": "200",
            "execution.checkpointing.dir": f"file://{self._directory}/checkpoints",
            **{key.replace("__", "-").replace("_", "."): value for key, value in settings.items()},
        }
        if self._ha:
            options |= {
                "high-availability.type": "filesystem",
                "high-availability.storageDir": f"{self._directory}/ha",
            }
        env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options))
        env.set_parallelism(2)
        env.enable_checkpointing(10)
        env.set_restart_strategy(strategy or RestartStrategies.no_restart())
        numbering_job(env, EVENTS, str(self._directory / "out"))
        self.spark.may_be_renewed = renewable
        return self.spark.submit(env)

    def lose_spark(self, master: JobMaster, loss: ClusterLoss = KILLED) -> None:
        """Let Spark be gone as soon as output beyond what there is has been committed."""
        before = len(read_output(str(self._directory / "out")))
        wait_until(lambda: len(read_output(str(self._directory / "out"))) > before, "output is committed")
        wait_until(lambda: 0 in self.spark.slots, "the slots of this attempt run")
        assert not master.result.done()
        self.spark.lost_by = loss
        self.spark.slots[0].lose()

    def checkpoints(self) -> list[Path]:
        """List the completed checkpoints."""
        return sorted((self._directory / "checkpoints").glob("*/chk-*/_metadata"))


@pytest.fixture
def job(cluster: Spark, tmp_path: Path) -> Job:
    """Return the job without high availability."""
    return Job(cluster, tmp_path, ha=False)


@pytest.fixture
def ha_job(cluster: Spark, tmp_path: Path) -> Job:
    """Return the job with high availability."""
    return Job(cluster, tmp_path, ha=True)


class TestWithoutHighAvailability:
    @pytest.mark.parametrize(
        "strategy",
        [RestartStrategies.no_restart(), RestartStrategies.fixed_delay_restart(1 << 31, 0)],
        ids=["none", "without limit"],
    )
    def test_the_job_is_suspended_and_goes_on_from_the_checkpoint_that_is_named(
        self, job: Job, tmp_path: Path, strategy: RestartStrategyConfiguration
    ) -> None:
        master = job.start(strategy)
        job.lose_spark(master)
        error = master.result.exception(60)
        assert isinstance(error, SparkLostError)
        assert str(error).startswith(f"job 'in process' is suspended, because {KILLED.what}. Checkpoint ")
        assert master.status is JobStatus.SUSPENDED
        (kept,) = job.checkpoints()
        assert f"rekindle run -s {kept.parent} " in str(error), "the one that is kept, though none is retained"
        assert master.history.restarts == 0
        job.spark.lost_by = None
        again = job.start(execution_state__recovery_path=str(kept.parent))
        again.result.result(60)
        assert_exactly_once(EVENTS, f"{tmp_path}/out")

    def test_a_session_that_the_program_stopped_is_called_that(self, job: Job) -> None:
        master = job.start()
        job.lose_spark(master, STOPPED)
        assert "is suspended, because the SparkSession that it ran on was stopped" in str(master.result.exception(60))
        assert master.status is JobStatus.SUSPENDED

    def test_there_is_no_new_spark(self, job: Job) -> None:
        master = job.start()
        job.lose_spark(master)
        assert isinstance(master.result.exception(60), SparkLostError)
        assert job.spark.renewed == 0

    def test_whoever_waits_for_a_savepoint_hears_of_it(self, job: Job, cluster: Cluster, tmp_path: Path) -> None:
        master = job.start()
        wait_until(lambda: master.history.progress().epochs > 0, "it runs")
        cluster.obeys = lambda slot, order: not isinstance(order, m.TriggerSnapshot)
        stopped = master.stop_with_savepoint(str(tmp_path / "savepoints"), drain=False)
        job.spark.lost_by = KILLED
        cluster.slots[0].lose()
        assert isinstance(stopped.exception(60), StopFailedError)
        assert master.status is JobStatus.SUSPENDED

    def test_a_job_that_fails_while_spark_is_there_fails(self, job: Job, cluster: Cluster) -> None:
        master = job.start()
        wait_until(lambda: 0 in cluster.slots, "it runs")
        cluster.slots[0].lose()
        assert isinstance(master.result.exception(60), JobExecutionError)
        assert master.status is JobStatus.FAILED
        assert job.checkpoints() == []

    def test_spark_that_is_gone_before_the_first_attempt_suspends_the_job_as_well(
        self, job: Job, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refused(*_: Any) -> None:
            job.spark.lost_by = KILLED
            raise ConnectionRefusedError("[Errno 111] Connection refused")

        monkeypatch.setattr(job_master_module, "Attempt", refused)
        master = job.start()
        assert KILLED.what in str(master.result.exception(60))
        assert master.status is JobStatus.SUSPENDED


class TestWithHighAvailability:
    def test_the_job_gets_a_new_spark_and_goes_on_in_place(self, ha_job: Job, tmp_path: Path) -> None:
        master = ha_job.start()
        for _ in range(2):
            ha_job.lose_spark(master)
        master.result.result(60)
        assert ha_job.spark.renewed == 2
        assert master.history.restarts == 2
        assert_exactly_once(EVENTS, f"{tmp_path}/out")
        assert (latest_entry(tmp_path).kind, latest_entry(tmp_path).status) == ("ended", "FINISHED")

    def test_a_job_that_was_to_be_stopped_is_stopped_after_that(
        self, ha_job: Job, cluster: Cluster, tmp_path: Path
    ) -> None:
        master = ha_job.start()
        wait_until(lambda: master.history.progress().epochs > 0, "it runs")
        cluster.obeys = lambda slot, order: ha_job.spark.renewed > 0 or not isinstance(order, m.TriggerSnapshot)
        stopped = master.stop_with_savepoint(str(tmp_path / "savepoints"), drain=False)
        ha_job.spark.lost_by = KILLED
        cluster.slots[0].lose()
        savepoint = stopped.result(60)
        master.result.result(60)
        ha_job.start(execution_state__recovery_path=savepoint).result.result(60)
        assert_exactly_once(EVENTS, f"{tmp_path}/out")

    @pytest.mark.parametrize("why", ["the program's own", "stopped", "refused", "too often"])
    def test_a_job_that_gets_none_leaves_the_log_as_it_is_and_the_next_driver_takes_over(
        self, ha_job: Job, tmp_path: Path, why: str
    ) -> None:
        master = ha_job.start(renewable=why != "the program's own")
        if why == "refused":
            ha_job.spark.refuses = [RuntimeError("JAVA_GATEWAY_EXITED") for _ in range(9)]
        for _ in range(3 if why == "too often" else 1):
            ha_job.lose_spark(master, STOPPED if why == "stopped" else KILLED)
        error = master.result.exception(60)
        assert isinstance(error, SparkLostError)
        assert master.status is JobStatus.SUSPENDED
        assert ("JAVA_GATEWAY_EXITED" if why == "refused" else "Start the program again") in str(error)
        entry = latest_entry(tmp_path)
        assert not entry.over
        assert [Path(one.location, "_metadata").exists() for one in entry.checkpoints] == [True]
        ha_job.spark.lost_by, ha_job.spark.refuses = None, []
        again = ha_job.start()
        again.result.result(60)
        assert again.settings.job_id == master.settings.job_id
        assert_exactly_once(EVENTS, f"{tmp_path}/out")

    def test_one_that_dies_while_it_is_started_is_tried_again(self, ha_job: Job, tmp_path: Path) -> None:
        ha_job.spark.refuses = [RuntimeError("JAVA_GATEWAY_EXITED")]
        master = ha_job.start()
        ha_job.lose_spark(master)
        master.result.result(60)
        assert ha_job.spark.renewed == 1
        assert_exactly_once(EVENTS, f"{tmp_path}/out")

    def test_it_can_be_cancelled_while_it_waits_for_one(self, ha_job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(job_master_module, "driver_restarts", lambda random: FixedDelayRestart(2, 3_600_000))
        master = ha_job.start()
        ha_job.lose_spark(master)
        wait_until(lambda: master.status is JobStatus.RESTARTING, "it waits")
        master.cancel()
        master.result.exception(60)
        assert (master.status, ha_job.spark.renewed) == (JobStatus.CANCELED, 0)


# --- what is seen of the loss ---


class Context:
    """Play a SparkContext whose JVM is a process of the test's choice."""

    def __init__(self, process: subprocess.Popen[bytes] | None, stopped: Callable[[], bool], port: int = 1) -> None:
        parameters = SimpleNamespace(address="127.0.0.1", port=port)
        self._gateway = SimpleNamespace(proc=process, gateway_parameters=parameters)
        self._jsc: Any = SimpleNamespace(sc=lambda: SimpleNamespace(isStopped=stopped))


def look(process: subprocess.Popen[bytes] | None, stopped: Callable[[], bool], port: int = 1) -> ClusterLoss | None:
    session: Any = SimpleNamespace(sparkContext=Context(process, stopped, port))
    return spark_loss(session)


def ended(code: str) -> subprocess.Popen[bytes]:
    """Return a process that has ended, and that nobody has waited for."""
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", f"import os, signal\n{code}"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    return process


def broken() -> bool:
    raise Py4JNetworkError("Answer from Java side is empty")


class TestLooking:
    def test_a_jvm_that_has_ended_says_how(self) -> None:
        process = ended("os.kill(os.getpid(), signal.SIGKILL)")
        expected = ClusterLoss(f"Spark's JVM (process {process.pid}) was killed by SIGKILL")
        assert look(process, broken) == expected
        assert look(process, broken) == expected, "also the second time"

    def test_one_that_is_about_to_end_is_waited_for(self) -> None:
        with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.5)"]) as process:
            assert look(process, broken) == ClusterLoss(f"Spark's JVM (process {process.pid}) ended with exit code 0")

    def test_a_context_that_the_program_has_stopped(self) -> None:
        with subprocess.Popen(["sleep", "60"]) as process:
            context = Context(process, lambda: True)
            context._jsc = None
            session: Any = SimpleNamespace(sparkContext=context)
            assert spark_loss(session) == STOPPED
            process.kill()

    def test_a_context_that_spark_has_stopped(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("rekindle.runtime.spark.spark_loss._STOPPING_SECONDS", 0.0)
        with subprocess.Popen(["sleep", "60"]) as process:
            loss = look(process, lambda: True)
            process.kill()
        assert loss == ClusterLoss("Spark has stopped its SparkContext; its own log says why")

    def test_a_jvm_that_nobody_here_has_started_is_asked_at_its_port(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            assert look(None, broken, port) is None, "a lost connection alone does not mean that it is gone"
        loss = look(None, broken, port)
        assert loss is not None
        assert f"nothing answers at 127.0.0.1:{port}" in loss.what

    def test_one_that_is_there_is_there(self) -> None:
        with subprocess.Popen(["sleep", "60"]) as process:
            assert look(process, lambda: False) is None
            process.kill()

    @pytest.mark.parametrize(
        ("code", "words"),
        [
            (-9, "was killed by SIGKILL"),
            (-6, "was killed by SIGABRT"),
            (-35, "was killed by signal 35"),
            (143, "ended with exit code 143 (SIGTERM)"),
            (1, "ended with exit code 1"),
            (3, "ended with exit code 3, as after an OutOfMemoryError: give it more with spark.driver.memory"),
            (52, "ended with exit code 52, as after an OutOfMemoryError: give it more with spark.driver.memory"),
        ],
    )
    def test_how_a_process_ended(self, code: int, words: str) -> None:
        assert how_it_ended(code) == words

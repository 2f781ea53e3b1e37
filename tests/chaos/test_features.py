"""Every feature, in a job that is killed in the middle and in one that goes on at another parallelism, on each backend.

All features run side by side in one job, so that a fault hits all of them at once; what each of them must give is
computed another way. A job is run once for each fault and backend, and its output judged feature by feature: in this
process for every fault, and once on Spark, with RocksDB, whose files a process leaves behind, with a slot that is
killed with SIGKILL.
"""

from __future__ import annotations

import os
import random
import signal
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rekindle.common import Encoder, JobStatus, Types
from rekindle.datastream import DataStream
from rekindle.datastream.connectors.file_system import BucketAssigner, FileSink
from rekindle.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from support.balances import environment, read_output
from support.features import FEATURES
from support.features.feature import events
from support.paced_cluster import PacedCluster
from support.processes import wait_until
from support.seeds import seeded

EVENTS = 1_500
PACES = (0.01, 0.05, 0.25, 1.25)
"""How long epochs take at least, in seconds: a job that is over before its middle is run again, more slowly."""
BACKENDS = {
    "heap": {"state_backend_incremental": "true"},
    "RocksDB": {
        "state_backend": "rocksdb",
        "state_backend_incremental": "true",
        "rekindle_rocksdb_cache_entries": "20",
    },
}


class OverTooEarlyError(Exception):
    """A job was over before anything could be done to it."""


class FeatureJob:
    """Run all features in one job, as often as it takes."""

    def __init__(self, cluster: Any, directory: Path, settings: dict[str, str]) -> None:
        self.cluster = cluster
        self._output = directory / "out"
        self._checkpoints = directory / "checkpoints"
        self._settings = settings

    def start(self, parallelism: int, epoch_records: int, go_on: bool = False) -> Any:
        """Start the job, or go on from its last checkpoint."""
        settings = self._settings | {"rekindle_epoch_max__records": str(epoch_records)}
        if go_on:
            settings["execution_state__recovery_path"] = str(self._checkpoints)
        env = environment(self.cluster, str(self._checkpoints), **settings)
        env.set_parallelism(parallelism)
        config = env.get_checkpoint_config()
        config.set_externalized_checkpoint_retention(ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION)
        config.set_force_checkpointing(True)  # there is an iteration
        stream = events(env, EVENTS)
        results = [labelled(name, feature.stream(stream)) for name, feature in FEATURES.items()]
        sink = FileSink.for_row_format(str(self._output), Encoder.simple_string_encoder())
        bucketless = sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build()
        results[0].union(*results[1:]).sink_to(bucketless).uid("sink")
        return env._submit("features", None)

    def wait_for_output(self, master: Any) -> None:
        """Wait until more output has been committed than now, and the job still runs."""
        before = self.committed()
        wait_until(lambda: master.result.done() or self.committed() > before, "more output is committed")
        if master.result.done():
            master.result.result()  # raises what it failed with
            raise OverTooEarlyError

    def committed(self) -> int:
        """Count the files that are finished."""
        return len(list(self._output.glob("part-*"))) if self._output.exists() else 0

    def results(self) -> dict[str, list[Any]]:
        """Read the results of each feature."""
        found: dict[str, list[Any]] = defaultdict(list)
        for line in read_output(str(self._output)):
            name, _, result = line.partition("\t")
            found[name].append(eval(result))
        return found


def labelled(name: str, results: DataStream) -> DataStream:
    return results.map(lambda result: f"{name}\t{result!r}", Types.STRING())


def slot_killed(job: FeatureJob, rng: random.Random) -> None:
    """Kill a slot in the middle."""
    master = job.start(2, EVENTS // 3)
    for _ in range(rng.randint(1, 3)):
        job.wait_for_output(master)
    if isinstance(job.cluster, PacedCluster):
        job.cluster.kill_one(rng)
    else:
        victims = set(master.slot_pids().values())
        os.kill(rng.choice(sorted(victims)), signal.SIGKILL)
        wait_until(lambda: len(victims | set(master.slot_pids().values())) == 4, "both slots are new ones")
    master.result.result(300)


def other_parallelism(job: FeatureJob, rng: random.Random) -> None:
    """Stop in the middle and go on with more subtasks, then with fewer."""
    for number, parallelism in enumerate((2, 3)):
        master = job.start(parallelism, EVENTS // 3, go_on=number > 0)
        for _ in range(rng.randint(1, 2)):
            job.wait_for_output(master)
        master.cancel()
        wait_until(master.result.done, "the job is cancelled")
        if master.status is JobStatus.FINISHED:
            raise OverTooEarlyError
        assert master.status is JobStatus.CANCELED
    job.start(1, EVENTS, go_on=True).result.result(300)


FAULTS: dict[str, Callable[[FeatureJob, random.Random], None]] = {
    "slot killed": slot_killed,
    "other parallelism": other_parallelism,
}


Outcome = Callable[[str, str], dict[str, list[Any]]]


def outcomes(cluster: Callable[[float], Any], tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """Return the results of all features after a fault on a backend; the job runs when it is asked for first."""

    @cache
    def run(fault: str, backend: str) -> dict[str, list[Any]]:
        for pace in PACES:
            job = FeatureJob(cluster(pace), tmp_path_factory.mktemp("features"), BACKENDS[backend])
            try:
                FAULTS[fault](job, seeded())
            except OverTooEarlyError:
                continue
            return job.results()
        raise OverTooEarlyError

    return run


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return outcomes(PacedCluster, tmp_path_factory)


@pytest.fixture(scope="module")
def outcome_on_spark(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return outcomes(lambda pace: spark, tmp_path_factory)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("feature", FEATURES)
def test_a_fault_changes_no_result(outcome: Outcome, feature: str, fault: str, backend: str) -> None:
    FEATURES[feature].check(outcome(fault, backend)[feature], EVENTS)


@pytest.mark.parametrize("feature", FEATURES)
def test_a_slot_killed_with_sigkill_on_spark_changes_no_result(outcome_on_spark: Outcome, feature: str) -> None:
    FEATURES[feature].check(outcome_on_spark("slot killed", "RocksDB")[feature], EVENTS)

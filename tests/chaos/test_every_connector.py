"""Every source and every sink in one job on Spark, and the job is hit: what docs/guarantees.md says of each is so."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from support.driver import Driver, driver
from support.every_connector import AGAIN, COUNT, ONCE, SOURCES, marked, prepare, written, wrong
from support.local_cluster import MASTER, executors
from support.local_cluster import own_work_directory as own_work_directory
from support.processes import is_slot, tagged_pids, wait_until
from support.seeds import NAMED, seeded

pytestmark = pytest.mark.spark


@contextmanager
def job(directory: Path, *settings: str) -> Iterator[Driver]:
    """Start the job, and wait until part of its output is visible."""
    prepare(directory)
    with driver("every_connector.py", str(directory), *settings) as running:
        wait_for_output(running, directory)
        yield running


def wait_for_output(running: Driver, directory: Path) -> None:
    before = written(directory, "files").total()
    wait_until(
        lambda: running.process.poll() is not None or written(directory, "files").total() > before,
        "a checkpoint with output is complete",
        timeout=180,
    )
    assert running.process.poll() is None, running.output()[-5_000:]
    assert written(directory, "files").total() < COUNT * len(SOURCES), "the job was over: the test proves nothing"


def assert_kept(directory: Path, output: str, collects: bool = True) -> None:
    """Compare what is in each sink with what each source had."""
    for sink in ONCE:
        assert wrong(written(directory, sink), once=True) == {}, sink
    for sink in AGAIN:
        assert wrong(written(directory, sink), once=False) == {}, sink
    assert wrong(marked(output, "printed"), once=False) == {}
    if collects:
        assert wrong(marked(output, "collected"), once=True) == {}


def test_a_function_that_raises_changes_nothing(tmp_path: Path) -> None:
    with job(tmp_path, "raises=yes") as running:
        assert running.wait() == 0, running.output()[-5_000:]
        output = running.output()
    assert (tmp_path / "raised").exists()
    assert "OSError: this once" in output
    assert_kept(tmp_path, output)


def test_a_slot_that_is_killed_changes_nothing(tmp_path: Path) -> None:
    with job(tmp_path, "pause=0.0005") as running:
        slots = sorted(filter(is_slot, tagged_pids(running.tag)))
        assert len(slots) == 2
        os.kill(seeded().choice(slots), signal.SIGKILL)
        assert running.wait() == 0, running.output()[-5_000:]
        output = running.output()
    assert "restart in" in output
    assert_kept(tmp_path, output)


@pytest.mark.usefixtures("own_work_directory")
def test_an_executor_that_is_killed_changes_nothing(tmp_path: Path) -> None:
    rng = seeded()
    with job(tmp_path, "pause=0.0005", MASTER) as running:
        while "restart in" not in running.output():  # until one is hit in the middle of an epoch
            wait_until(lambda: len(executors(running.tag)) == 2, "two executors run", 60)
            assert running.process.poll() is None, "no executor was hit in the middle of an epoch"
            time.sleep(rng.uniform(0.1, 0.6))  # output is committed between two epochs: go on into the next one
            os.kill(rng.choice(executors(running.tag)), signal.SIGKILL)
            before = written(tmp_path, "files").total()
            wait_until(
                lambda before=before: (
                    "restart in" in running.output()
                    or written(tmp_path, "files").total() > before
                    or running.process.poll() is not None
                ),
                "the job goes on, or restarts",
                120,
            )
        assert running.wait(300) == 0, running.output()[-5_000:]
        output = running.output()
    assert_kept(tmp_path, output)


def test_a_driver_that_is_killed_and_resumed_with_another_parallelism_changes_nothing(tmp_path: Path) -> None:
    with job(tmp_path, "pause=0.0005") as running:
        running.process.kill()
        running.wait()
        first = running.output()
        wait_until(lambda: not tagged_pids(running.tag), "all processes are gone")
    resume = ("parallelism=3", f"execution.state-recovery.path={tmp_path}/checkpoints")
    with driver("every_connector.py", str(tmp_path), *resume) as running:
        assert running.wait(300) == 0, running.output()[-5_000:]
        output = first + running.output()
    assert_kept(tmp_path, output, collects=False)  # who collects is gone, with what it was about to get


@pytest.mark.skipif(not NAMED, reason="kills twenty times, which takes minutes: SEED=1 runs it")
@pytest.mark.usefixtures("own_work_directory")
def test_twenty_kills_of_all_kinds_change_nothing(tmp_path: Path) -> None:
    rng = seeded()
    kills: Counter[str] = Counter()
    prepare(tmp_path)
    output, resume = "", []
    ended = False
    while not ended:
        with driver("every_connector.py", str(tmp_path), MASTER, *resume) as running:
            ended = kill_until_the_driver_dies(running, tmp_path, rng, kills)
            assert running.wait(600) == (0 if ended else -signal.SIGKILL), running.output()[-5_000:]
            output += running.output()
            wait_until(lambda tag=running.tag: not tagged_pids(tag), "all processes are gone")
        resume = [f"execution.state-recovery.path={tmp_path}/checkpoints"]
    print(dict(kills))
    assert kills.total() == 20
    assert_kept(tmp_path, output, collects=False)  # each driver has collected a part


def kill_until_the_driver_dies(running: Driver, directory: Path, rng: Random, kills: Counter[str]) -> bool:
    """Kill slots, executors or the driver whenever output has been committed, until there were twenty kills.

    Returns:
        Whether the driver lives.
    """
    while kills.total() < 20:
        wait_for_output(running, directory)
        time.sleep(rng.uniform(0.1, 0.8))  # output is committed between two epochs: go on into the next one
        kind = rng.choices(("slot", "executor", "driver"), (6, 3, 1))[0]
        if kind == "driver":
            running.process.kill()
            kills[kind] += 1
            return False
        pids = sorted(filter(is_slot, tagged_pids(running.tag))) if kind == "slot" else executors(running.tag)
        if pids:
            os.kill(rng.choice(pids), signal.SIGKILL)
            kills[kind] += 1
    return True

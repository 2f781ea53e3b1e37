"""From Kafka through keyed state to Kafka on Spark: whatever is killed, each result is there once and in its order.

Processes are killed one after the other, each kind in turn: 20 with a seed that was named (``SEED=1``). Then the job
runs to its end, and the topic is compared with what plain Python computes.
"""

from __future__ import annotations

import os
import random
import signal
import time
import uuid
from collections import Counter
from pathlib import Path

import pytest

from support.balances import key_of
from support.driver import Driver, driver
from support.kafka_numbering import KafkaVerdict, judge_topic
from support.local_cluster import MASTER, executors
from support.local_cluster import own_work_directory as own_work_directory
from support.processes import is_jvm, is_slot, tagged_pids, wait_until
from support.seeds import rounds, seeded
from support.services.jars import spark_kafka_jars
from support.services.kafka import Broker

pytestmark = pytest.mark.spark

FAULTS = rounds(5, 20)
KINDS = ("slot", "executor", "driver", "broker", "function", "slot", "JVM", "executor", "driver", "broker")
EVENTS_PER_FAULT = 8_000
RESTARTED = ("-m", "rekindle.cli", "run", "--restart-driver")


def victims(running: Driver, kind: str) -> list[int]:
    """List the processes of a kind; the driver is the parent of Spark's JVM."""
    own = tagged_pids(running.tag)
    jvms = [pid for pid in own if is_jvm(pid)]
    if kind == "slot":
        return [pid for pid in own if is_slot(pid)]
    if kind == "executor":
        return executors(running.tag)
    return jvms if kind == "JVM" else [pid for pid in map(parent_of, jvms) if pid in own]


def parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def kill_one(running: Driver, broker: Broker, kind: str, directory: Path, rng: random.Random) -> None:
    """Kill a process of a kind; a function is not killed, it raises."""
    if kind == "broker":
        broker.restart()
        return
    if kind == "function":
        (directory / "raise").touch()
        wait_until(lambda: not (directory / "raise").exists(), "the function has raised", timeout=120)
        return
    wait_until(lambda: victims(running, kind), f"there is a {kind}", timeout=120)
    os.kill(rng.choice(sorted(victims(running, kind))), signal.SIGKILL)


@pytest.mark.usefixtures("own_work_directory")
def test_nothing_is_lost_and_nothing_comes_twice(kafka: Broker, tmp_path: Path) -> None:
    if not spark_kafka_jars().exists():
        pytest.skip(f"Spark's connector to Kafka is not in {spark_kafka_jars()}: make services fetches it with Maven")
    rng = seeded()
    name, events = uuid.uuid4().hex[:8], FAULTS * EVENTS_PER_FAULT
    source, sink, again = f"events-{name}", f"once-{name}", f"again-{name}"
    kafka.create_topic(source, 2)
    kafka.create_topic(sink, 3)
    kafka.create_topic(again, 3)
    kafka.produce(source, ((key_of(event), str(event)) for event in range(1, events + 1)))
    killed: Counter[str] = Counter()
    arguments = (kafka.bootstrap_servers, source, sink, again, str(tmp_path), MASTER)
    with driver("kafka_to_kafka.py", *arguments, through=RESTARTED) as running:
        for number in range(FAULTS):
            before = sum(kafka.end_offsets(sink).values())
            wait_until(
                lambda before=before: (
                    running.process.poll() is not None or sum(kafka.end_offsets(sink).values()) > before
                ),
                "more results are in Kafka",
                timeout=180,
            )
            assert running.process.poll() is None, "the job was over before it could be killed: the test proves nothing"
            time.sleep(rng.random() * 0.5)  # any moment between two commits, and in the middle of one
            kind = KINDS[number % len(KINDS)]
            kill_one(running, kafka, kind, tmp_path, rng)
            killed[kind] += 1
        (tmp_path / "gate").touch()
        assert running.wait(300) == 0, running.output()[-8000:]
    print(f"{events} events, killed: {dict(killed)}")
    assert killed.total() == FAULTS
    assert judge_topic(kafka, sink, events) == KafkaVerdict()
    assert judge_topic(kafka, again, events).lost == 0

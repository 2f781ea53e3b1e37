"""Slots are killed while records go round in a loop: none is lost, none comes twice."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from rekindle.common import Encoder
from rekindle.datastream import CheckpointingMode, KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from rekindle.datastream.connectors.file_system import BucketAssigner, FileSink
from rekindle.datastream.state import ValueStateDescriptor
from support.balances import environment, events, read_output
from support.paced_cluster import PacedCluster
from support.processes import wait_until
from support.seeds import seeded

EVENTS = 12_000
KEYS = 20


def rounds(event: int) -> int:
    return 1 + event % 8


class Visits(KeyedProcessFunction):
    """Number the visits of all records of a key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._visits = runtime_context.get_state(ValueStateDescriptor("visits", None))

    def process_element(self, value: tuple[int, int], ctx: Any) -> Any:
        visits = (self._visits.value() or 0) + 1
        self._visits.update(visits)
        event, left = value
        yield event, left - 1, visits


def visits_job(env: StreamExecutionEnvironment, output: str) -> None:
    loop = events(env, EVENTS).map(lambda event: (event, rounds(event))).iterate()
    visited = loop.key_by(lambda item: (item[0] + item[1]) % KEYS).process(Visits())
    loop.close_with(visited.filter(lambda item: item[1] > 0).map(lambda item: item[:2]))
    lines = visited.map(lambda item: f"{item[0]},{item[1]},{(item[0] + item[1] + 1) % KEYS},{item[2]}")
    sink = FileSink.for_row_format(output, Encoder.simple_string_encoder())
    lines.sink_to(sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build())


def assert_golden(output: str) -> None:
    lines = [tuple(map(int, line.split(","))) for line in read_output(output)]
    turns = Counter((event, left) for event, left, _, _ in lines)
    assert turns == Counter((event, left) for event in range(1, EVENTS + 1) for left in range(rounds(event)))
    per_key: dict[int, list[int]] = {}
    for _, _, key, visits in lines:
        per_key.setdefault(key, []).append(visits)
    assert {key: sorted(visits) for key, visits in per_key.items()} == {
        key: list(range(1, len(visits) + 1)) for key, visits in per_key.items()
    }


def test_killed_slots_lose_no_record_of_a_loop_at_least_once(local_cluster: PacedCluster, tmp_path: Path) -> None:
    """The checkpoints of a job with a loop stand between epochs in this mode, too."""
    rng = seeded()
    output = tmp_path / "out"
    env = environment(local_cluster, str(tmp_path / "checkpoints"), CheckpointingMode.AT_LEAST_ONCE)
    env.get_checkpoint_config().set_force_checkpointing(True)
    visits_job(env, str(output))
    master = env._submit("loop", None)
    for _ in range(2):
        written = len(read_output(str(output))) if output.exists() else 0
        wait_until(
            lambda written=written: (
                master.result.done() or (output.exists() and len(read_output(str(output))) > written)
            ),
            "more output is committed",
            timeout=180,
        )
        assert not master.result.done(), "the job was over before it could be killed: the test proves nothing"
        local_cluster.kill_one(rng)
    master.result.result(300)
    assert_golden(str(output))

"""Incremental snapshots of a slot: what is written, what is shared, and what a restore makes of it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rekindle.checkpoint.metadata import StoredFile
from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from rekindle.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.slot.increments import LONGEST_CHAIN, Increments, StoredIncrement
from rekindle.state.backend_settings import BackendSettings
from support.in_process_job import InProcessJob, collect
from support.seeds import seeds

INCREMENTAL = BackendSettings(incremental=True)


class Remember(KeyedProcessFunction):
    """Do to its state what each record says: (key, what, value)."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.value = runtime_context.get_state(ValueStateDescriptor("value"))
        self.list = runtime_context.get_list_state(ListStateDescriptor("list"))
        self.map = runtime_context.get_map_state(MapStateDescriptor("map"))

    def process_element(self, value: tuple[str, str, Any], ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        _, what, argument = value
        match what:
            case "set":
                self.value.update(argument)
            case "add":
                self.list.add(argument)
            case "replace":
                self.list.update(argument)
            case "put":
                self.map.put(*argument)
            case "drop":
                self.map.remove(argument)
            case "clear":
                for state in (self.value, self.list, self.map):
                    state.clear()
        ctx.timer_service().register_event_time_timer(1_000)
        return iter(())

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), self.value.value(), list(self.list), dict(self.map.items())


def remembering() -> StreamExecutionEnvironment:
    environment = StreamExecutionEnvironment.get_execution_environment()
    stream = environment.from_collection([("nobody", "look", None)]).uid("records")
    collect(stream.key_by(lambda record: record[0]).process(Remember()).uid("memory"))
    return environment


def feed(job: InProcessJob, *records: tuple[str, str, Any]) -> None:
    """Hand records to the operator of the slot, past the exchange."""
    memory = next(running for running in job.slots[0]._graph if running.node.uid == "memory")
    memory.operator.process(Chunk(list(records), None, [record[0] for record in records]))


def give_up(job: InProcessJob, checkpoint_id: int) -> None:
    """Let a checkpoint that the slot has taken expire before its acknowledgement is heard."""
    answer = job._answers.get(timeout=30)[1]
    assert answer.checkpoint_id == checkpoint_id  # type: ignore[union-attr]
    job.clock.advance(10**9)
    job._executor.run(job.coordinator, job.coordinator.expire(job.clock.now()))


def contents(job: InProcessJob) -> dict[str, Any]:
    job.run_to_end()
    return {key: tuple(rest) for key, *rest in job.collected if key != "nobody"}


@pytest.fixture
def storage(tmp_path: Path) -> dict[str, Any]:
    return {"files": LocalCheckpointFiles(str(tmp_path)), "backend": INCREMENTAL}


def test_only_what_changed_is_written_and_the_rest_is_shared(storage: dict[str, Any]) -> None:
    with InProcessJob(remembering(), **storage) as job:
        feed(job, *((f"k{i}", "set", f"{i:0500}") for i in range(1000)))
        first = job.checkpoint().metadata.handles[0]
        feed(job, ("k5", "set", "y" * 500))
        second = job.checkpoint().metadata.handles[0]
    assert first.before == []
    assert second.before == [first.file]
    assert second.written == second.file.size < first.written / 10  # timers are whole in every snapshot
    assert all(file.shared for file in second.files())


def test_a_chain_gives_back_what_was_there(storage: dict[str, Any]) -> None:
    with InProcessJob(remembering(), **storage) as job:
        feed(job, ("a", "set", 1), ("a", "add", 1), ("a", "put", ("x", 1)), ("b", "add", 7), ("c", "put", ("x", 1)))
        feed(job, *((f"k{i}", "set", i) for i in range(100)))
        job.checkpoint()
        feed(job, ("a", "add", 2), ("a", "put", ("y", 2)), ("b", "clear", None), ("k7", "set", None))
        job.checkpoint()
        feed(job, ("a", "add", 3), ("a", "drop", "x"), ("b", "add", 8), ("c", "drop", "x"), ("a", "set", 2))
        stored = job.checkpoint()
    assert len(stored.metadata.handles[0].before) == 2
    with InProcessJob(remembering(), restore=stored, **storage) as job:
        found = contents(job)
    assert found["a"] == (2, [1, 2, 3], {"y": 2})
    assert found["b"] == (None, [8], {})
    assert found["c"] == (None, [], {})
    assert found["k7"] == (None, [], {})
    assert found["k8"] == (8, [], {})


def test_what_a_checkpoint_that_never_completed_had_is_in_the_next(storage: dict[str, Any]) -> None:
    with InProcessJob(remembering(), **storage) as job:
        feed(job, *((f"k{i}", "set", i) for i in range(100)))
        first = job.checkpoint()
        feed(job, ("a", "set", 1), ("k1", "set", "lost?"))
        aborted = job.begin_checkpoint()
        give_up(job, aborted)
        feed(job, ("b", "set", 2))
        stored = job.checkpoint()
    assert stored.metadata.handles[0].before == [first.metadata.handles[0].file]
    with InProcessJob(remembering(), restore=stored, **storage) as job:
        found = contents(job)
    assert (found["a"][0], found["k1"][0], found["b"][0]) == (1, "lost?", 2)


def test_the_chain_is_folded_before_it_grows_long(storage: dict[str, Any]) -> None:
    lengths = []
    with InProcessJob(remembering(), **storage) as job:
        feed(job, *((f"k{i}", "set", "x" * 2000) for i in range(200)))
        for number in range(2 * LONGEST_CHAIN):
            feed(job, ("a", "set", number))
            lengths.append(len(job.checkpoint().metadata.handles[0].before))
    assert max(lengths) == LONGEST_CHAIN - 1
    assert lengths.count(0) >= 2


def test_the_chain_is_folded_once_the_changes_outgrow_the_whole(storage: dict[str, Any]) -> None:
    lengths = []
    with InProcessJob(remembering(), **storage) as job:
        feed(job, *((f"k{i}", "set", "x" * 1000) for i in range(300)))
        for _ in range(10):
            handle = job.checkpoint().metadata.handles[0]
            lengths.append(len(handle.before))
            assert sum(file.size for file in handle.before[1:]) < 1.5 * (handle.before or [handle.file])[0].size
            feed(job, *((f"k{i}", "set", "y" * 1000) for i in range(100)))
    assert max(lengths) in (4, 5, 6)  # a third each
    assert lengths.count(0) in (2, 3)


def test_a_snapshot_for_which_half_of_all_entries_changed_is_whole(storage: dict[str, Any]) -> None:
    with InProcessJob(remembering(), **storage) as job:
        feed(job, *((f"k{i}", "set", i) for i in range(100)))
        job.checkpoint()
        feed(job, *((f"k{i}", "set", -i) for i in range(50)))
        stored = job.checkpoint()
    assert stored.metadata.handles[0].before == []
    with InProcessJob(remembering(), restore=stored, **storage) as job:
        assert {key: value for key, (value, _, _) in contents(job).items()} == {
            f"k{i}": -i if i < 50 else i for i in range(100)
        }


def test_the_first_snapshot_after_a_restore_is_whole(storage: dict[str, Any]) -> None:
    with InProcessJob(remembering(), **storage) as job:
        feed(job, *((f"k{i}", "set", i) for i in range(100)))
        stored = job.checkpoint()
    with InProcessJob(remembering(), restore=stored, own=True, attempt=1, **storage) as job:
        job.coordinator._completed.add(stored_as_completed(stored))
        feed(job, ("a", "set", 1))
        again = job.checkpoint()
    assert again.metadata.handles[0].before == []


def stored_as_completed(stored: Any) -> Any:
    from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint

    return CompletedCheckpoint(stored)


@pytest.mark.parametrize("seed", seeds(5))
def test_any_chain_restores_to_a_model(storage: dict[str, Any], seed: int) -> None:
    rng = random.Random(seed)
    model: dict[str, list[Any]] = {}
    keys = [f"k{i}" for i in range(30)]
    with InProcessJob(remembering(), **storage) as job:
        for _ in range(rng.randint(2, 12)):
            records = []
            for _ in range(rng.randint(0, 60)):
                key = rng.choice(keys)
                entry = model.setdefault(key, [None, [], {}])
                what = rng.choice(["set", "add", "add", "replace", "put", "put", "drop", "clear"])
                argument: Any = rng.randrange(1000)
                if what == "set":
                    entry[0] = argument
                elif what == "add":
                    entry[1] = [*entry[1], argument]
                elif what == "replace":
                    argument = [argument] * rng.randrange(3)
                    entry[1] = argument
                elif what == "put":
                    argument = (rng.randrange(4), argument)
                    entry[2] = entry[2] | {argument[0]: argument[1]}
                elif what == "drop":
                    argument = rng.randrange(4)
                    entry[2] = {k: v for k, v in entry[2].items() if k != argument}
                else:
                    model[key] = [None, [], {}]
                records.append((key, what, argument))
            feed(job, *records)
            if rng.random() < 0.3:
                give_up(job, job.begin_checkpoint())
            else:
                stored = job.checkpoint()
        stored = job.checkpoint()
    with InProcessJob(remembering(), restore=stored, **storage) as job:
        assert contents(job) == {key: tuple(entry) for key, entry in model.items()}


class TestIncrements:
    WHOLE = StoredFile(100, 0, "w")
    CHANGE = StoredFile(30, 0, "c")

    def test_a_chain_is_worth_extending_until_its_changes_outgrow_the_whole(self) -> None:
        assert StoredIncrement((self.WHOLE,)).worth_extending
        assert StoredIncrement((self.WHOLE, *[self.CHANGE] * 4)).worth_extending
        assert not StoredIncrement((self.WHOLE, *[self.CHANGE] * 5)).worth_extending
        assert not StoredIncrement().worth_extending

    def test_only_the_last_completed_checkpoint_and_later_ones_are_remembered(self) -> None:
        increments = Increments()
        for number in (1, 2, 3):
            increments.add(number, StoredIncrement((self.WHOLE,)))
        increments.completed(2)
        assert increments.base(1) is None
        assert increments.base(2) is not None
        increments.aborted(3)
        assert increments.base(3) is None
        assert increments.base(None) is None

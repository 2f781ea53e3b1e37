"""What a job may change between a savepoint and its restore, and what is refused; over the whole, output is golden."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from rekindle.common import Encoder, Types, WatermarkStrategy
from rekindle.datastream import (
    DataStream,
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    JobManagerCheckpointStorage,
    KeyedProcessFunction,
    RuntimeContext,
    StateBackend,
    StreamExecutionEnvironment,
)
from rekindle.datastream.connectors.file_system import BucketAssigner, FileSink
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.exceptions import StateRestoreError
from support.balances import environment, read_output
from support.in_process_master import Cluster, cluster
from support.processes import wait_until

__all__ = ["cluster"]

LAST = 1_500
KEYS = 7


class Count(KeyedProcessFunction):
    """Number the records of a key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: tuple[str, int], ctx: Any) -> Iterator[str]:
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        yield f"{value[0]},{ctx.get_current_key()},{count}"


@dataclass(frozen=True)
class Version:
    """A version of the program: every source has a count of its own, with its name in their uids.

    Attributes:
        sources: The names of the sources, in the order of the program.
        counts: The sources whose records are counted; those of the others pass.
        suffix: Is added to the uids of the counts.
        names: What operators are called.
        uids: Whether operators have uids.
    """

    sources: Sequence[str] = ("a", "b")
    counts: Sequence[str] = ("a", "b")
    suffix: str = ""
    names: str = ""
    uids: bool = True

    def build(self, env: StreamExecutionEnvironment, output: Path) -> None:
        streams = [self._counted(self._source(env, name), name) for name in self.sources]
        sink = FileSink.for_row_format(str(output), Encoder.simple_string_encoder())
        sink = sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        end = streams[0].union(*streams[1:]).sink_to(sink.build())
        if self.uids:
            end.uid("sink")

    def _source(self, env: StreamExecutionEnvironment, name: str) -> DataStream:
        numbers = env.from_source(NumberSequenceSource(1, LAST), WatermarkStrategy.no_watermarks(), self.names + name)
        numbers = self._with_uid(numbers, f"source-{name}")
        return self._with_uid(numbers.map(lambda number: (name, number)), f"named-{name}")

    def _counted(self, stream: DataStream, name: str) -> DataStream:
        if name in self.counts:
            counted = stream.key_by(lambda pair: pair[1] % KEYS).process(Count()).name(f"{self.names}count {name}")
            return self._with_uid(counted, f"count-{name}{self.suffix}")
        return self._with_uid(stream.map(lambda pair: f"{pair[0]},{pair[1] % KEYS},0"), f"plain-{name}")

    def _with_uid(self, stream: DataStream, uid: str) -> DataStream:
        return stream.uid(uid) if self.uids else stream


class Upgrade:
    """Run a version, stop it in the middle, run another from its savepoint."""

    def __init__(self, cluster: Cluster, directory: Path) -> None:
        self._cluster = cluster
        self._directory = directory
        self.output = directory / "out"
        self.before: list[str] = []

    def stop(
        self, version: Version, parallelism: int = 2, backend: StateBackend | None = None, storage: Any = None
    ) -> Path:
        """Run a version for a while; return its savepoint."""
        checkpoints = storage or str(self._directory / "checkpoints")
        env = environment(None, checkpoints, interval=20, rekindle_epoch_max__records="40")
        env.set_parallelism(parallelism).set_state_backend(backend or HashMapStateBackend())
        version.build(env, self.output)
        master = self._cluster.submit(env)
        # All sources have given something by then: they are read in turn.
        wait_until(lambda: self.output.exists() and len(read_output(str(self.output))) > 100, "there is output")
        location = master.stop_with_savepoint(str(self._directory / "savepoints"), False).result(60)
        self.before = read_output(str(self.output))
        assert len(self.before) < LAST, "the job was over before it was stopped: the test proves nothing"
        return Path(location)

    def resume(
        self,
        version: Version,
        savepoint: Path,
        parallelism: int = 2,
        backend: StateBackend | None = None,
        storage: Any = None,
        **settings: str,
    ) -> None:
        """Run a version from a savepoint to its end."""
        env = environment(None, storage, execution_state__recovery_path=str(savepoint), **settings)
        env.set_parallelism(parallelism).set_state_backend(backend or HashMapStateBackend())
        version.build(env, self.output)
        self._cluster.submit(env).result.result(60)

    def numbers(self, source: str, lines: Sequence[str] | None = None) -> Counter[tuple[int, int]]:
        """Return all that was written for a source: key and number."""
        split = [line.split(",") for line in (read_output(str(self.output)) if lines is None else lines)]
        return Counter((int(key), int(number)) for name, key, number in split if name == source)


def golden() -> Counter[tuple[int, int]]:
    """Number the records of each key."""
    counts: Counter[int] = Counter()
    numbered: Counter[tuple[int, int]] = Counter()
    for record in range(1, LAST + 1):
        counts[record % KEYS] += 1
        numbered[record % KEYS, counts[record % KEYS]] += 1
    return numbered


@pytest.fixture
def upgrade(cluster: Cluster, tmp_path: Path) -> Upgrade:
    return Upgrade(cluster, tmp_path)


HEAP, ROCKSDB = HashMapStateBackend(), EmbeddedRocksDBStateBackend(True)
ALLOWED = {"execution_state__recovery_ignore__unclaimed__state": "true"}


@pytest.mark.parametrize("parallelism", [1, 2, 3, 5])
@pytest.mark.parametrize(("old", "new"), [(HEAP, HEAP), (HEAP, ROCKSDB), (ROCKSDB, HEAP), (ROCKSDB, ROCKSDB)])
def test_another_parallelism_and_another_backend(
    upgrade: Upgrade, parallelism: int, old: StateBackend, new: StateBackend
) -> None:
    upgrade.resume(Version(), upgrade.stop(Version(), backend=old), parallelism, new)
    for source in "ab":
        assert upgrade.numbers(source) == golden()


@pytest.mark.parametrize("to_memory", [True, False], ids=["to memory", "from memory"])
def test_another_checkpoint_storage(upgrade: Upgrade, tmp_path: Path, to_memory: bool) -> None:
    memory, files = JobManagerCheckpointStorage(), str(tmp_path / "checkpoints")
    old, new = (files, memory) if to_memory else (memory, files)
    upgrade.resume(Version(), upgrade.stop(Version(), storage=old), storage=new)
    for source in "ab":
        assert upgrade.numbers(source) == golden()


def moved(savepoint: Path) -> Path:
    return savepoint.rename(savepoint.parents[1] / "elsewhere")


def copied(savepoint: Path) -> Path:
    copy = shutil.copytree(savepoint, savepoint.parents[1] / "deep" / "below" / savepoint.name)
    shutil.rmtree(savepoint)
    return copy


def by_its_metadata(savepoint: Path) -> Path:
    return moved(savepoint) / "_metadata"


@pytest.mark.parametrize("move", [moved, copied, by_its_metadata], ids=lambda move: move.__name__)
@pytest.mark.parametrize("backend", [HEAP, ROCKSDB])
def test_a_savepoint_is_restored_from_wherever_it_was_put(
    upgrade: Upgrade, backend: StateBackend, move: Callable[[Path], Path], tmp_path: Path
) -> None:
    savepoint = move(upgrade.stop(Version(), backend=backend))
    shutil.rmtree(tmp_path / "checkpoints", ignore_errors=True)
    upgrade.resume(Version(), savepoint)
    for source in "ab":
        assert upgrade.numbers(source) == golden()


@pytest.mark.parametrize("backend", [HEAP, ROCKSDB])
def test_operators_may_be_in_another_order_and_have_other_names(upgrade: Upgrade, backend: StateBackend) -> None:
    savepoint = upgrade.stop(Version(), backend=backend)
    upgrade.resume(Version(("b", "a"), names="another "), savepoint, 3)
    for source in "ab":
        assert upgrade.numbers(source) == golden()


def test_an_operator_that_is_new_starts_empty(upgrade: Upgrade) -> None:
    savepoint = upgrade.stop(Version(counts="a"))
    upgrade.resume(Version(), savepoint)
    assert upgrade.numbers("a") == golden()
    new = upgrade.numbers("b")
    passed = new - golden()
    assert {number for _, number in passed} == {0}, "what came before was not counted"
    counted = new - passed
    assert counted.total() == LAST - passed.total()
    assert max(Counter(key for key, _ in counted.elements()).values()) == max(number for _, number in counted)


def test_state_of_an_operator_that_is_gone_is_refused_by_name_unless_that_is_allowed(upgrade: Upgrade) -> None:
    savepoint = upgrade.stop(Version())
    with pytest.raises(StateRestoreError, match=r"'count b' \(uid count-b: count\).*--allow-non-restored-state"):
        upgrade.resume(Version(counts="a"), savepoint)
    assert read_output(str(upgrade.output)) == upgrade.before, "nothing has run"
    upgrade.resume(Version(counts="a"), savepoint, **ALLOWED)
    assert upgrade.numbers("a") == golden()
    assert upgrade.numbers("b").total() == LAST


def test_another_uid_is_another_operator(upgrade: Upgrade) -> None:
    savepoint = upgrade.stop(Version())
    renamed = Version(suffix="-2")
    with pytest.raises(StateRestoreError, match=r"'count a' \(uid count-a: count\); 'count b' \(uid count-b: count\)"):
        upgrade.resume(renamed, savepoint)
    upgrade.resume(renamed, savepoint, **ALLOWED)
    assert upgrade.numbers("a") != golden()
    assert upgrade.numbers("a").total() == LAST


def test_a_source_that_is_new_starts_at_its_beginning(upgrade: Upgrade) -> None:
    savepoint = upgrade.stop(Version())
    upgrade.resume(Version("cab", "cab"), savepoint, 3)
    for source in "abc":
        assert upgrade.numbers(source) == golden()


def test_the_position_of_a_source_that_is_gone_is_state_that_is_not_restored(upgrade: Upgrade) -> None:
    savepoint = upgrade.stop(Version(counts="a"))
    with pytest.raises(StateRestoreError, match=r"\(uid source-b: splits\)"):
        upgrade.resume(Version("a", "a"), savepoint)
    upgrade.resume(Version("a", "a"), savepoint, **ALLOWED)
    assert upgrade.numbers("a") == golden()
    assert upgrade.numbers("b") == upgrade.numbers("b", upgrade.before), "nothing more came from it"


def test_derived_uids_stay_while_the_graph_does(upgrade: Upgrade) -> None:
    version = Version(uids=False)
    upgrade.resume(replace(version, names="another "), upgrade.stop(version), 3, ROCKSDB)
    for source in "ab":
        assert upgrade.numbers(source) == golden()


def test_derived_uids_of_a_changed_graph_are_refused_rather_than_mixed_up(upgrade: Upgrade) -> None:
    savepoint = upgrade.stop(Version(uids=False))
    with pytest.raises(StateRestoreError, match="holds state of operators that the program does not have"):
        upgrade.resume(Version(counts="", uids=False), savepoint)

"""What is in a snapshot is read alike from every format, without Spark and without the program."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import pytest

from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.common import Types
from rekindle.contracts.key_groups import KeyGroupRange
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.datastream.operators import (
    AbstractStreamOperator,
    InternalTimer,
    OneInputStreamOperator,
    StreamRecord,
    Triggerable,
)
from rekindle.datastream.window import TimeWindow
from rekindle.exceptions import StateNotFoundError, StateRestoreError
from rekindle.serialization.classes import class_names
from rekindle.serialization.encodings.stand_ins import PickledStandIn, stand_ins_for_missing_classes
from rekindle.state.key_hash import key_group_of
from rekindle.state_processor.contents import SnapshotContents, contents_of
from rekindle.state_processor.description import OperatorDescription, describe
from rekindle.state_processor.key_search import FoundEntry, FoundTimer, find_key
from rekindle.state_processor.snapshot import Snapshot
from rekindle.state_processor.state_entries import StateEntries
from support.in_process_job import InProcessJob, collect
from support.snapshot_job import BACKENDS, OTHERS, RECORDS, USERS, expected, take_snapshot

EVERYBODY = [*USERS, *OTHERS]
OLD = Path(__file__).resolve().parents[1] / "compat" / "v3"


@pytest.fixture(scope="module", params=list(BACKENDS))
def snapshot(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return Snapshot(take_snapshot(tmp_path_factory.mktemp("snapshot"), request.param))


@pytest.fixture
def contents(snapshot: Snapshot) -> Iterator[SnapshotContents]:
    with contents_of(snapshot) as contents:
        yield contents


def of_state(contents: SnapshotContents, state: str) -> dict[str, Any]:
    entries = list(contents.entries("everything", state))
    assert len({entry.key for entry in entries}) == len(entries)
    return {entry.key: entry.value for entry in entries}


def golden(state: str) -> dict[str, Any]:
    return {user: expected(user)[state] for user in EVERYBODY}


def test_each_kind_of_keyed_state(contents: SnapshotContents) -> None:
    for state in ("account", "count", "amounts", "by-parity", "total", "anything", "expiring"):
        assert of_state(contents, state) == golden(state), state
    means = of_state(contents, "mean")
    assert {user: total / count for user, (total, count) in means.items()} == golden("mean")


def test_state_that_expires_comes_with_the_last_access(contents: SnapshotContents) -> None:
    entries = list(contents.entries("everything", "expiring"))
    assert all(isinstance(entry.last_access, int) for entry in entries)
    assert all(entry.last_access is None for entry in contents.entries("everything", "count"))


def test_the_state_and_timers_of_windows(contents: SnapshotContents) -> None:
    entries = list(contents.entries("windows", "_window-contents"))
    window = TimeWindow(3000, 4000)
    sums = {user: sum(a for u, a in RECORDS if u == user and a >= 30) for user in USERS}
    assert {(e.key, e.namespace, e.value) for e in entries} == {(u, window, (u, total)) for u, total in sums.items()}
    timers = {(timer.domain, timer.timestamp, timer.key, timer.namespace) for timer in contents.timers("windows")}
    assert timers == {("event", 3999, user, window) for user in USERS}


def test_operator_state_and_timers(contents: SnapshotContents) -> None:
    assert sorted(value for _, value in contents.items("everything", "seen")) == sorted(a for _, a in RECORDS)
    assert {value for _, value in contents.items("everything", "all")} == {f"{u}-{a}" for u, a in RECORDS}
    assert dict(contents.broadcast_entries("everything", "rules")) == {"low": 1, "high": 10}
    timers = {(timer.key, timer.timestamp) for timer in contents.timers("everything")}
    assert timers == {(user, 1_000_000 + amount) for user, amount in RECORDS}


def test_only_the_key_groups_that_are_asked_for(contents: SnapshotContents) -> None:
    group = key_group_of("ada", contents.snapshot.operator("everything").max_parallelism)
    found = {entry.key for entry in contents.entries("everything", "count", KeyGroupRange(group, group))}
    assert found == {user for user in EVERYBODY if key_group_of(user, 128) == group}


def test_a_key_is_found_with_all_that_it_has(contents: SnapshotContents) -> None:
    found = list(find_key(contents, "everything", "ada"))
    states = {item.state: item.entry.value for item in found if isinstance(item, FoundEntry)}
    states["mean"] = states["mean"][0] / states["mean"][1]
    wanted = expected("ada")
    assert states == {name: value for name, value in wanted.items() if name not in ("user", "rules")}
    timers = [item.timer.timestamp for item in found if isinstance(item, FoundTimer)]
    assert sorted(timers) == [1_000_000 + amount for amount in wanted["amounts"]]
    assert list(find_key(contents, "everything", "nobody")) == []


def test_the_description(snapshot: Snapshot) -> None:
    described = describe(snapshot)
    assert described.format in ("heap", "heap-incremental", "rocksdb", "canonical")
    assert json.loads(json.dumps(described.as_dict()))["job_name"] == "in process"
    operator = described.operator("everything")
    assert (operator.name, operator.parallelism, operator.max_parallelism) == ("Everything", 2, 128)
    states = {state.name: state for state in operator.keyed_states}
    assert states["count"].kind == "value"
    assert (states["count"].key_type, states["count"].value_type) == ("STRING", "LONG")
    assert states["by-parity"].map_key_type == "STRING"
    assert states["account"].value_type == "support.snapshot_job.Account(owner STRING, balance BIG_INT)"
    assert [name for name, state in states.items() if state.ttl] == ["expiring"]
    for state in states.values():
        assert state.keys == len(EVERYBODY) if state.exact else state.keys >= len(EVERYBODY)
    assert [(timers.domain, timers.entries) for timers in operator.timers] == [("event", len(RECORDS))]
    lists = {state.name: (state.mode, sum(state.items)) for state in operator.operator_states}
    assert lists == {"seen": ("split", 70), "all": ("union", 70), "rules": ("broadcast", 2)}
    assert described.operator("windows").keyed_states[0].namespace_type == "TIME_WINDOW"


def test_what_is_not_there_is_named_with_what_is(contents: SnapshotContents) -> None:
    with pytest.raises(StateNotFoundError, match=r"no operator with uid 'nothing'; it has .*'everything'"):
        list(contents.entries("nothing", "count"))
    with pytest.raises(StateNotFoundError, match=r"no keyed state 'cnt'.* it has 'account', 'amounts'"):
        list(contents.entries("everything", "cnt"))
    with pytest.raises(StateNotFoundError, match=r"no operator state 'sene'.*'seen'"):
        list(contents.items("everything", "sene"))


# --- snapshots whose classes are not here ---


@pytest.fixture
def no_classes_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the classes of the program that wrote the snapshots: other tests may have loaded them."""
    monkeypatch.delitem(sys.modules, "app_that_evolves", raising=False)
    monkeypatch.setattr(class_names, "_CLASSES_IN_USE", WeakValueDictionary())


def elsewhere() -> Iterator[tuple[Path, OperatorDescription]]:
    for metadata in sorted(OLD.rglob("_metadata")):
        yield metadata, describe(Snapshot.open(str(metadata))).operator("everything-uid")


@pytest.mark.usefixtures("no_classes_here")
def test_classes_that_are_not_here_are_described() -> None:
    for metadata, operator in elsewhere():
        states = {state.name: state for state in operator.keyed_states}
        assert states["value"].key_type == "app_that_evolves.Key(city STRING, number BIG_INT)", metadata
        assert states["value"].value_type.startswith("app_that_evolves.User(name STRING, age BIG_INT, home ")


@pytest.mark.usefixtures("no_classes_here")
def test_classes_that_are_not_here_are_stood_in_for() -> None:
    golden = json.loads((OLD / "contents.json").read_text(encoding="utf-8"))
    for metadata, operator in elsewhere():
        with contents_of(Snapshot.open(str(metadata))) as contents:
            found = list(find_key(contents, operator.uid, '{"city": "Rome", "number": 5}'))
        states = {item.state: repr(item.entry.value) for item in found if isinstance(item, FoundEntry)}
        for name in ("value", "list", "folding"):
            wanted = golden["key 0"][name].replace("<Color.RED: 1>", "<Color.RED: 'RED'>")
            assert states[name] == wanted, (metadata, name)


WRITE_PICKLE = """
import dataclasses, enum, pickle, sys

class Point:
    def __init__(self, x): self.x = x

class Color(enum.Enum):
    RED = 1

class Names(list): pass

sys.stdout.buffer.write(pickle.dumps([Point(3), Color.RED, Names(["a"]), {Color.RED: 1}]))
"""


def test_pickles_of_classes_that_are_not_here_say_what_they_can() -> None:
    from rekindle.serialization import PickleSerializer, SerializationError

    data = subprocess.run([sys.executable, "-c", WRITE_PICKLE], stdout=subprocess.PIPE, check=True).stdout
    with stand_ins_for_missing_classes():
        point, color, names, counted = PickleSerializer().from_bytes(data)
    assert isinstance(point, PickledStandIn)
    assert point.fields() == {"x": 3}
    assert [repr(shown) for shown in (point, color, names)] == [
        "__main__.Point(x=3)",
        "__main__.Color(1)",
        "__main__.Names('a')",
    ]
    assert counted[color] == 1
    with pytest.raises(SerializationError, match="a pickle cannot be read"):
        PickleSerializer().from_bytes(data)


def test_a_serializer_that_is_not_here_gives_bytes(tmp_path: Path) -> None:
    from rekindle.serialization import PickleSerializer
    from rekindle.serialization.snapshots.stored_snapshot import snapshot_to_bytes
    from rekindle.state.plain_values import RawBytes
    from rekindle.state_processor.stored_types import readable_serializer, type_name

    stored = snapshot_to_bytes(PickleSerializer().snapshot_configuration())
    name = b"rekindle.serialization.encodings.pickle_serializer:PickleSerializerSnapshot"
    gone = stored.replace(
        name, b"an_app.that_is_gone_since_years_and_years.and_so_on:PickleSeriali".ljust(len(name), b"X")
    )
    assert type_name(gone).startswith("written by an_app.that_is_gone")
    serializer, note = readable_serializer(gone)
    assert note is not None
    assert serializer.from_bytes(b"abc") == RawBytes(b"abc")
    assert repr(RawBytes(b"abc")) == "<3 bytes: 616263>"


def test_nothing_at_a_path_is_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(StateRestoreError, match="there is no checkpoint at"):
        Snapshot.open(str(tmp_path))


def test_looking_into_snapshots_needs_no_spark() -> None:
    modules = "rekindle.cli.app, rekindle.cli.state_views, rekindle.state_processor"
    program = f"import sys, {modules}; assert 'pyspark' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


class Quiet(AbstractStreamOperator, OneInputStreamOperator, Triggerable):
    """Set a timer for each record, in a service that has a name."""

    def open(self) -> None:
        self.timers = self.get_internal_timer_service("quiet", None, self)

    def process_element(self, record: StreamRecord[int]) -> None:
        self.timers.register_event_time_timer(None, record.value)

    def on_event_time(self, timer: InternalTimer) -> None:
        pass

    def on_processing_time(self, timer: InternalTimer) -> None:
        pass


@pytest.mark.parametrize("backend", ["heap", "rocksdb", "rocksdb with timers"])
def test_timers_of_a_named_service(tmp_path: Path, backend: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    keyed = env.from_collection(list(range(100))).key_by(lambda value: value % 7, Types.LONG())
    collect(keyed.transform("quiet", Types.LONG(), Quiet()).uid("quiet"))
    with InProcessJob(env, 2, files=LocalCheckpointFiles(str(tmp_path)), backend=BACKENDS[backend]) as job:
        job.run_epoch(80)
        snapshot = Snapshot(job.checkpoint())
    operator = describe(snapshot).operator("quiet")
    assert operator.keyed_states == []
    assert [(each.domain, each.service, each.entries) for each in operator.timers] == [("event", "quiet", 80)]
    with contents_of(snapshot) as contents:
        timers = list(contents.timers("quiet"))
        rows = list(StateEntries(contents, "quiet", "_event-time-timers/quiet").rows())
        found = list(find_key(contents, "quiet", "3"))
    assert {(timer.key, timer.timestamp, timer.service) for timer in timers} == {(n % 7, n, "quiet") for n in range(80)}
    assert sorted(row["timestamp"] for row in rows) == list(range(80))
    assert {item.timer.timestamp for item in found if isinstance(item, FoundTimer)} == set(range(3, 80, 7))

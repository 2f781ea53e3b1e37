"""Checkpoints, logs of high availability and file sinks on a real HDFS and a real store with S3's interface."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import obstore
import pytest

from rekindle.checkpoint.storage import CheckpointFiles, checkpoint_files
from rekindle.common import RestartStrategies, Types, WatermarkStrategy
from rekindle.connectors.files.sink_base_path import sink_files
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from rekindle.datastream.connectors.file_system import FileSink
from rekindle.exceptions import CheckpointStorageError, ConfigurationError, JobFencedError
from rekindle.ha.log import JobLog
from rekindle.storage import object_files
from rekindle.storage.remote_storage import remote_files
from rekindle.testing import local_environment
from support.broken_sink_files import SinkJob, kill_everywhere
from support.command_line import rekindle_here
from support.processes import wait_until
from support.services.hdfs import Hdfs, write_settings
from support.services.s3 import S3Server
from support.storage_contract import StorageContract
from support.suspended_driver import references, take


@pytest.fixture(params=["hdfs", "s3"])
def remote(request: pytest.FixtureRequest) -> str:
    """Return the URI of a directory of the test's own, in each storage."""
    uri: str = request.getfixturevalue(request.param)
    return f"{uri}/root"


@pytest.fixture(params=["disk", "hdfs", "s3"])
def anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the location of a directory of the test's own, in each storage and on the disk."""
    return str(tmp_path / "root") if request.param == "disk" else f"{request.getfixturevalue(request.param)}/root"


class TestEachStorage(StorageContract):
    @pytest.fixture
    def files(self, remote: str) -> CheckpointFiles:
        return checkpoint_files(remote)

    def test_a_stream_that_is_dropped_never_becomes_a_whole_file(self, files: CheckpointFiles) -> None:
        stream = files._remote.output("part")
        stream.write(bytes(20 << 20))
        del stream
        gc.collect()
        if files._remote.whole_at_once:
            assert files.list("") == []
        else:  # it is seen in HDFS, and shorter than it would be: it was not closed
            assert (files._remote.size("part") or 0) < 20 << 20
        files.delete("part")
        assert files.list("") == []


# ---- The fence ----


def test_a_driver_that_was_suspended_before_its_commit_is_fenced_when_it_wakes_up(anywhere: str) -> None:
    script = Path(__file__).parents[1] / "support" / "suspended_driver.py"
    paths = [str(script.parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    suspended = subprocess.Popen([sys.executable, script, anywhere], stdout=subprocess.PIPE, text=True, env=environment)
    try:
        _, status = os.waitpid(suspended.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        files = checkpoint_files(anywhere)
        owner = take(files, "b")  # it has the number that the other one is about to write
        suspended.send_signal(signal.SIGCONT)
        said, _ = suspended.communicate(timeout=60)
    finally:
        suspended.kill()
        suspended.wait()
    assert said.startswith("JobFencedError: job 'job' was taken over by process 7 on host-b")
    owner.check()
    owner.commit(references(2, 3))
    latest = JobLog(files, "job").latest()
    assert latest is not None
    assert (latest.owner.id, latest.checkpoints) == ("b", references(2, 3))
    assert [name for name in files.list("job") if not name.startswith("entry-")] == []


class Faults:
    """Let the k-th call of a client fail: before it had an effect, or after it."""

    def __init__(self, at: int, after: bool, error: Callable[[], Exception]) -> None:
        self.calls: list[str] = []
        self._at, self._after, self._error = at, after, error

    def around(self, name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            self.calls.append(name)
            fails = len(self.calls) == self._at
            if fails and not self._after:
                raise self._error()
            result = operation(*arguments, **options)
            if fails:
                raise self._error()
            return result

        return call


def with_faults(location: str, at: int, after: bool) -> tuple[CheckpointFiles, Faults]:
    """Open a storage whose client fails at its k-th call, as it does when its connection breaks."""
    files: Any = checkpoint_files(location)
    real = files._remote
    if location.startswith("hdfs:"):
        faults = Faults(at, after, lambda: OSError("Connection reset by peer (os error 104)"))
        client = real._client()
        names = ("rename", "delete", "read", "list_status")
        real._made = SimpleNamespace(**{name: faults.around(name, getattr(client, name)) for name in names})
        create = faults.around("create", client.inner.create)

        def opened(*arguments: Any) -> Any:
            file = create(*arguments)
            return SimpleNamespace(write=faults.around("write", file.write), close=faults.around("close", file.close))

        real._made.inner = SimpleNamespace(create=opened)
    else:
        broken = "Generic S3 error: Error performing PUT http://… in 1ms - HTTP error: error sending request"
        faults = Faults(at, after, lambda: obstore.exceptions.GenericError(broken))
        names = ("put", "head", "get", "get_range", "list", "list_with_delimiter", "delete")
        real._obstore = SimpleNamespace(**{name: faults.around(name, getattr(obstore, name)) for name in names})
    return files, faults


def test_whichever_call_fails_a_commit_counts_or_does_not_and_the_driver_knows(
    remote: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_files, "_FIRST_PAUSE", 0.0)
    calls = commits_with_faults(f"{remote}/golden", 0, False)[0].calls
    assert len(calls) > 12
    assert any(call in ("rename", "put") for call in calls)
    cases = [(at, after) for at in range(1, len(calls) + 1) for after in (False, True)]
    with ThreadPoolExecutor(8) as pool:  # HDFS takes half a second to close a file
        outcomes = set(pool.map(lambda case: commits_with_faults(f"{remote}/{case[0]}-{case[1]}", *case)[1], cases))
    assert outcomes >= {"fenced", "all committed", "not claimed"}


def commits_with_faults(location: str, at: int, after: bool) -> tuple[Faults, str]:
    """Let a driver take over and commit while one call fails, and check what it knows; return what became of it."""
    files, faults = with_faults(location, at, after)
    certain: list[int] = []
    unknown: list[int] = []
    outcome = "not claimed"
    try:
        driver = take(files, "a")
        outcome = "all committed"
        for number in (1, 2):
            try:
                driver.commit(references(*certain, number))
                certain.append(number)
            except JobFencedError:
                unknown.append(number)
                raise
            except CheckpointStorageError:  # it is certainly not there: the next one takes its number
                outcome = "a checkpoint failed"
    except JobFencedError as error:
        outcome = "fenced"
        if "cannot tell whether entry" not in str(error):
            raise AssertionError(f"{error}: there is no other driver (call {at}, {after})") from error
    except CheckpointStorageError as error:
        if outcome != "not claimed" or files.root not in str(error):
            raise
    assert len(faults.calls) >= at
    latest = JobLog(checkpoint_files(location), "job").latest()
    there = [] if latest is None else [reference.checkpoint_id for reference in latest.checkpoints]
    assert there in (certain, [*certain, *unknown]), f"{faults.calls[at - 1]} ({at}, {after}): {outcome}"
    return faults, outcome


def test_a_conditional_write_whose_answers_are_lost_is_told_from_another_drivers(
    s3: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_files, "_FIRST_PAUSE", 0.0)
    files, _ = with_faults(f"{s3}/own", 1, True)
    files.create("entry", b"a")
    assert files.read("entry") == b"a"
    files.delete("entry")
    checkpoint_files(f"{s3}/own").create("entry", b"b")
    files, _ = with_faults(f"{s3}/own", 1, False)
    with pytest.raises(CheckpointStorageError) as raised:
        files.create("entry", b"a")
    assert isinstance(raised.value.__cause__, FileExistsError)
    assert files.read("entry") == b"b"


# ---- Errors ----


def test_a_name_node_that_is_gone_is_no_missing_file(
    hdfs_server: Hdfs, hdfs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_settings(tmp_path / "hdfs-site.xml", {"dfs.client.failover.max.attempts": 1})
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    files = checkpoint_files(hdfs)
    driver = take(files, "a")
    hdfs_server.kill_name_node()
    try:
        with pytest.raises(CheckpointStorageError, match="Check host and port of the NameNode") as raised:
            JobLog(files, "job").latest()
        assert not isinstance(raised.value.__cause__, FileNotFoundError)
        with pytest.raises(CheckpointStorageError, match="Check host and port of the NameNode"):
            files.list("job")
        with pytest.raises(CheckpointStorageError, match="Check host and port of the NameNode"):
            files.delete("job")
        with pytest.raises(JobFencedError, match="cannot tell whether entry 2 "):
            driver.commit(references(1))
    finally:
        hdfs_server.start_name_node()
        hdfs_server.wait()
    latest = JobLog(files, "job").latest()
    assert latest is not None
    assert latest.checkpoints == []


def test_a_nameservice_is_found_by_the_configuration_of_hadoop(
    hdfs_server: Hdfs, hdfs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {
        "dfs.nameservices": "cluster",
        "dfs.ha.namenodes.cluster": "nn1,nn2",
        "dfs.namenode.rpc-address.cluster.nn1": f"127.0.0.1:{hdfs_server.free_port}",
        "dfs.namenode.rpc-address.cluster.nn2": hdfs_server.address,
    }
    write_settings(tmp_path / "hdfs-site.xml", settings)
    write_settings(tmp_path / "core-site.xml", {"fs.defaultFS": "hdfs://cluster"})
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    directory = hdfs.removeprefix(hdfs_server.uri)
    checkpoint_files(f"hdfs://cluster{directory}").create("a", b"1")
    assert checkpoint_files(f"hdfs://{directory}").read("a") == b"1"
    assert checkpoint_files(hdfs).read("a") == b"1"


def test_a_wrong_address_is_one_sentence_with_the_fix_and_soon(hdfs_server: Hdfs) -> None:
    nothing = f"hdfs://127.0.0.1:{hdfs_server.free_port}/flink/checkpoints"
    for uri, said in (
        (nothing, rf"nothing answers at 127\.0\.0\.1:{hdfs_server.free_port} \(Connection refused\)"),
        ("hdfs://no-such-name.invalid/flink", "is neither a host, nor a nameservice"),
        ("hdfs:///flink", r"No fs\.defaultFS"),
    ):
        with pytest.raises(CheckpointStorageError, match=rf"{said}.*Check host and port of the NameNode") as raised:
            checkpoint_files(uri).create("job/_metadata", b"")
        assert "\n" not in str(raised.value)


def test_who_may_not_write_in_hdfs_is_told_who_they_are(hdfs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    files = checkpoint_files(hdfs)
    files.create("job/_metadata", b"x")
    monkeypatch.setenv("HADOOP_USER_NAME", "stranger")
    with pytest.raises(CheckpointStorageError, match=r"Permission denied: user=stranger.*HADOOP_USER_NAME") as raised:
        checkpoint_files(hdfs).create("job/_metadata2", b"x")
    assert "\n" not in str(raised.value)


def test_what_is_wrong_with_s3_is_one_sentence_with_the_fix(
    s3: str, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for operation in (
        lambda files: files.create("a", b"x"),
        lambda files: files.read("a"),
        lambda files: files.list("a"),
        lambda files: files.delete("a"),
    ):
        with pytest.raises(CheckpointStorageError, match=r"NoSuchBucket.*Check the name of the bucket") as raised:
            operation(checkpoint_files("s3://no-such-bucket-here/a"))
        assert "\n" not in str(raised.value)
    with monkeypatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
        with pytest.raises(CheckpointStorageError, match=r"nothing answers at 127\.0\.0\.1:1 .*AWS_ENDPOINT_URL"):
            checkpoint_files(s3).read("a")
    if s3_server.kind == "moto":  # it takes any keys
        return
    with monkeypatch.context() as patch:
        patch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
        with pytest.raises(CheckpointStorageError, match=r"AWS_SECRET_ACCESS_KEY") as raised:
            checkpoint_files(s3).read("a")
        assert not isinstance(raised.value.__cause__, FileNotFoundError)
        assert "\n" not in str(raised.value)


def test_keys_and_server_may_be_in_a_profile(s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [f"{name.lower()} = {os.environ[name]}" for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")]
    (tmp_path / "credentials").write_text("\n".join(["[tests]", *keys]) + "\n")
    endpoint = os.environ["AWS_ENDPOINT_URL"]
    (tmp_path / "config").write_text(f"[profile tests]\nregion = us-east-1\nendpoint_url = {endpoint}\n")
    (tmp_path / "sso").write_text("[profile tests]\nsso_session = x\n")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_PROFILE", "tests")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    files = checkpoint_files(s3)
    files.create("a", b"x")
    assert files.read("a") == b"x"
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "sso"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    with pytest.raises(ConfigurationError, match=r"profile 'tests' has sso_session, which is not followed"):
        checkpoint_files(s3)


# ---- Jobs ----


def test_each_record_is_in_hdfs_once_wherever_the_job_is_killed(hdfs: str) -> None:
    chunks = [[str(10 * number + place) for place in range(3)] for number in range(1, 4)]
    numbers = count()

    def job() -> SinkJob:
        uri = f"{hdfs}/{next(numbers)}"
        return SinkJob(FileSink.for_row_format(uri).build()._settings, lambda: sink_files(uri), chunks)

    def check(job: SinkJob) -> None:
        files = remote_files(job.settings.base_path, "test")
        names = files.walk()
        visible = [name for name in names if not name.rpartition("/")[2].startswith(".")]
        found = [line for name in visible for line in files.read(name).decode().split()]
        assert sorted(found) == [line for chunk in chunks for line in chunk]
        assert [name for name in names if name.endswith(".pending")] == []

    assert kill_everywhere(job, check, together=8) > 40


def job(env: StreamExecutionEnvironment, out: str, records: int) -> None:
    """Count each number by its last digit, and write every count."""
    source = DataGeneratorSource(lambda n: n, records, Types.LONG(), RateLimiterStrategy.per_checkpoint(200))
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    sums = (
        numbers.map(lambda n: (n % 10, 1)).key_by(lambda t: t[0]).reduce(lambda a, b: (a[0], a[1] + b[1])).uid("sums")
    )
    sums.map(lambda t: f"{t[0]} {t[1]}", Types.STRING()).sink_to(FileSink.for_row_format(out).build())


def written(out: str) -> Iterator[str]:
    """Return the lines that a reader of files sees."""
    files = remote_files(out, "test")
    for name in files.walk():
        if not name.rpartition("/")[2].startswith("."):
            yield from files.read(name).decode().splitlines()


@pytest.mark.parametrize(("storage", "backend"), [("hdfs", "rocksdb"), ("s3", "hashmap")])
def test_a_job_survives_lost_slots_and_goes_on_from_a_savepoint(
    storage: str, backend: str, request: pytest.FixtureRequest
) -> None:
    remote = f"{request.getfixturevalue(storage)}/root"
    out = f"{remote}/out"
    settings = {
        "execution.checkpointing.dir": f"{remote}/checkpoints",
        "execution.checkpointing.interval": "100 ms",
        "execution.checkpointing.incremental": "true",
        "execution.state-recovery.from-local": "true",
        "execution.checkpointing.data-inline-threshold": "0",
        "state.backend.type": backend,
        "high-availability.type": "filesystem",
        "high-availability.storageDir": f"{remote}/ha",
        "rekindle.progress": "none",
    }
    env = local_environment(2, settings)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(10, 0))
    job(env, out, 1_200)
    client = env.execute_async()
    wait_until(lambda: any(written(out)), "output is visible")
    env.cluster.kill_slot(1)
    before = len(list(written(out)))
    wait_until(lambda: len(list(written(out))) > before, "more output is visible")
    savepoint = client.stop_with_savepoint(False, f"{remote}/savepoints").result()
    assert savepoint.startswith(f"{remote}/savepoints/savepoint-")
    shown = rekindle_here("state", savepoint)
    assert shown.code == 0, shown.err
    assert "sums" in shown.out
    again: Any = local_environment(3, {**settings, "execution.state-recovery.path": savepoint})
    job(again, out, 1_200)
    again.execute()
    assert sorted(written(out)) == sorted(f"{digit} {number}" for digit in range(10) for number in range(1, 121))
    left = [name for name in remote_files(f"{remote}/checkpoints", "test").walk() if not name.startswith("_history")]
    assert left == [], "a finished job keeps no checkpoint"
    disposed = rekindle_here("dispose", "--yes", savepoint)
    assert disposed.code == 0, disposed.err
    assert remote_files(f"{remote}/savepoints", "test").walk() == []

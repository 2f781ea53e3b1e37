"""What readers of Flink's older documentation type: it works, or an error holds the line to write."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from rekindle.common import Configuration, Types
from rekindle.datastream import (
    BroadcastProcessFunction,
    CoProcessFunction,
    EmbeddedRocksDBStateBackend,
    FsStateBackend,
    KeyedProcessFunction,
    MemoryStateBackend,
    OutputTag,
    ProcessFunction,
    ProcessWindowFunction,
    RocksDBStateBackend,
    StreamExecutionEnvironment,
)
from rekindle.datastream.window import CountTumblingWindowAssigner
from rekindle.exceptions import ConfigurationError, JobExecutionError
from rekindle.runtime.master.settings.state_settings import settle_backend
from rekindle.testing import local_environment

TAG = OutputTag("late", Types.LONG())


class TestBackends:
    def test_rocksdb_takes_the_backend_of_its_checkpoints_by_position(self) -> None:
        backend = RocksDBStateBackend(FsStateBackend("file:///checkpoints", "file:///savepoints"), True)
        assert backend.get_checkpoint_backend() == FsStateBackend("file:///checkpoints", "file:///savepoints")
        assert backend.is_incremental_checkpoints_enabled()
        assert backend.get_savepoint_path() == "file:///savepoints"

    def test_two_of_them_are_refused(self) -> None:
        with pytest.raises(TypeError, match="was given two"):
            RocksDBStateBackend(FsStateBackend("/a"), None, MemoryStateBackend())

    def test_none_is_still_refused(self) -> None:
        with pytest.raises(ConfigurationError, match="needs checkpoint_data_uri"):
            RocksDBStateBackend()

    @pytest.mark.parametrize("configured", ["true", "false"])
    def test_the_removal_of_expired_state_is_switched_by_methods(self, configured: str) -> None:
        configuration = Configuration.from_dict({"state.backend.rocksdb.ttl.compaction.filter.enabled": configured})

        def settled(change: Callable[[EmbeddedRocksDBStateBackend], None]) -> bool:
            backend = EmbeddedRocksDBStateBackend()
            change(backend)
            rocksdb = settle_backend(backend, configuration).rocksdb
            assert rocksdb is not None
            return rocksdb.ttl_compaction

        assert settled(EmbeddedRocksDBStateBackend.enable_ttl_compaction_filter) is True
        assert settled(EmbeddedRocksDBStateBackend.disable_ttl_compaction_filter) is False
        assert settled(lambda backend: None) is (configured == "true")


class TestKeys:
    @pytest.mark.parametrize(
        ("keys", "line"),
        [
            ((0,), "lambda record: record[0]"),
            (("user",), "lambda record: record.user"),
            (("user name",), "lambda record: record['user name']"),
            (("user", "day"), "lambda record: (record.user, record.day)"),
            ((0, 2), "lambda record: (record[0], record[2])"),
        ],
    )
    def test_fields_by_position_and_name_get_the_line_to_write(self, keys: Any, line: str) -> None:
        stream = StreamExecutionEnvironment().from_collection([(1, 2)])
        with pytest.raises(TypeError, match=re.escape(f"write {line}")):
            stream.key_by(*keys)


class _Process(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.output(TAG, value)


class _Keyed(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.output(TAG, value)


class _Window(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        context.output(TAG, 1)


class _CoProcess(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        ctx.output(TAG, value)

    def process_element2(self, value: Any, ctx: Any) -> Any:
        ctx.output(TAG, value)


@pytest.mark.parametrize("way", ["process", "keyed", "window", "connected"])
def test_side_outputs_as_in_java_get_the_line_to_write(way: str) -> None:
    env = local_environment(parallelism=1)
    stream = env.from_collection([1], Types.LONG())
    keyed = stream.key_by(lambda value: value)
    results = {
        "process": lambda: stream.process(_Process()),
        "keyed": lambda: keyed.process(_Keyed()),
        "window": lambda: keyed.window(CountTumblingWindowAssigner.of(1)).process(_Window()),
        "connected": lambda: stream.connect(stream).process(_CoProcess()),
    }[way]()
    with pytest.raises(JobExecutionError, match="write yield tag, value"), results.execute_and_collect() as records:
        list(records)


def test_other_missing_names_are_as_always() -> None:
    with pytest.raises(AttributeError, match="object has no attribute 'colect'"):
        _ = BroadcastProcessFunction.Context.__getattr__(object(), "colect")  # type: ignore[attr-defined]

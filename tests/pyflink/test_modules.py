"""Every module of PyFlink 2.3 can be imported, or its import says what to use instead."""

from __future__ import annotations

import importlib
import importlib.util
import pickle
from pathlib import Path

import pytest

from rekindle.exceptions import RekindleError, UnavailableModuleError
from rekindle.pyflink_modules import INSTEAD

MODULES = (Path(__file__).parent / "modules.txt").read_text().split()
"""Those of apache-flink 2.3.0 below ``pyflink``, without its workers and servers, and the one of apache-flink-ml."""

MISSING = [name for name in MODULES if any(name == gone or name.startswith(f"{gone}.") for gone in INSTEAD)]


@pytest.mark.parametrize("name", sorted(set(MODULES) - set(MISSING)))
def test_a_module_of_pyflink_is_there(name: str) -> None:
    importlib.import_module(f"rekindle.{name}")


@pytest.mark.parametrize("name", MISSING)
def test_a_module_that_is_not_there_names_the_replacement(name: str) -> None:
    with pytest.raises(UnavailableModuleError, match=r"^rekindle\.[\w.]+ is not available in Rekindle: \w.* docs/"):
        importlib.import_module(f"rekindle.{name}")


def test_nothing_is_said_to_be_missing_that_pyflink_does_not_have() -> None:
    assert INSTEAD.keys() - {"fn_execution"} <= set(MODULES)


@pytest.mark.parametrize(
    ("statement", "replacement"),
    [
        ("from rekindle.datastream.connectors.cassandra import CassandraSink", "Sink of your own"),
        ("from rekindle.table.expressions import col", "Spark SQL"),
        ("from rekindle import table", "Spark SQL"),
    ],
)
def test_every_way_of_importing_names_the_replacement(statement: str, replacement: str) -> None:
    with pytest.raises(ImportError) as raised:
        exec(statement)
    assert isinstance(raised.value, RekindleError)
    assert isinstance(raised.value, ModuleNotFoundError)
    assert replacement in str(raised.value)
    pickle.loads(pickle.dumps(raised.value))


def test_what_pyflink_does_not_have_either_is_as_missing_as_ever() -> None:
    assert importlib.util.find_spec("rekindle.no_such_module") is None
    with pytest.raises(ImportError, match="cannot import name 'Nothing'"):
        exec("from rekindle.datastream.connectors import Nothing")
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'table'"):
        importlib.import_module("table")


def test_names_of_modules_are_where_pyflink_has_them_too() -> None:
    from rekindle.datastream import connectors
    from rekindle.datastream.connectors import file_system, number_seq

    assert connectors.FileSink is file_system.FileSink
    assert connectors.NumberSequenceSource is number_seq.NumberSequenceSource


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("common.job_client", "CompletableFuture JobExecutionResult JobID JobStatus"),
        ("common.watermark_strategy", "Duration"),
        ("datastream.async_retry_strategies", "AsyncRetryPredicate AsyncRetryStrategy"),
        ("datastream.checkpoint_config", "CheckpointingMode Duration ExternalizedCheckpointRetention"),
        ("datastream.connectors.file_system", "Duration Encoder SinkFunction"),
        ("datastream.functions", "ListState MapState ReadOnlyBroadcastState ValueState ValueStateDescriptor"),
        ("datastream.output_tag", "TypeInformation Types"),
        ("datastream.state", "Duration Time TypeInformation Types"),
        ("datastream.window", "OutputTag ReduceFunction RuntimeContext StateDescriptor Time Types"),
    ],
)
def test_names_that_pyflinks_modules_import_can_be_imported_from_them(module: str, names: str) -> None:
    loaded = importlib.import_module(f"rekindle.{module}")
    assert [name for name in names.split() if not hasattr(loaded, name)] == []

"""State whose class has changed, on real Spark: from a savepoint of the old program, by the new one."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rekindle.datastream import StreamExecutionEnvironment
from rekindle.datastream.state_backend import EmbeddedRocksDBStateBackend, HashMapStateBackend, StateBackend
from rekindle.exceptions import JobExecutionError, StateMigrationException
from rekindle.runtime.master.client import LocalJobClient
from support.balances import environment
from support.processes import wait_until

pytestmark = pytest.mark.usefixtures("no_slots_left")

PROGRAM = """
from dataclasses import dataclass

from rekindle.datastream import KeyedProcessFunction
from rekindle.datastream.state import ValueStateDescriptor


@dataclass
class Account:
    {fields}


class Counting(KeyedProcessFunction):
    def open(self, runtime_context):
        self.state = runtime_context.get_state(ValueStateDescriptor("account", Account))

    def process_element(self, row, ctx):
        account = self.state.value() or Account(**{first})
        account.count += 1
        self.state.update(account)
        yield f"{{row.value}}:{{account}}"
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], ModuleType]]:
    """Write the module of the program, and import it as a new driver would."""
    monkeypatch.syspath_prepend(str(tmp_path / "code"))
    (tmp_path / "code").mkdir()

    def write(fields: str, first: str) -> ModuleType:
        (tmp_path / "code" / "bank.py").write_text(PROGRAM.format(fields=fields, first=first))
        sys.modules.pop("bank", None)
        importlib.invalidate_caches()
        return importlib.import_module("bank")

    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # versions of one second would be taken for each other
    yield write
    sys.modules.pop("bank", None)


def started(
    env: StreamExecutionEnvironment, spark: Any, module: ModuleType, inbox: Path, output: Path
) -> LocalJobClient:
    from rekindle.common import Encoder
    from rekindle.datastream.connectors.file_system import BucketAssigner, FileSink

    rows = env.from_data_frame(spark.readStream.text(str(inbox)), uid="lines")
    counted = rows.key_by(lambda row: row.value).process(module.Counting()).uid("counting")
    sink = FileSink.for_row_format(str(output), Encoder.simple_string_encoder())
    counted.sink_to(sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build()).uid("out")
    client = env.execute_async("bank")
    assert isinstance(client, LocalJobClient)
    return client


def lines(output: Path) -> list[str]:
    return sorted(line for part in output.glob("part-*") for line in part.read_text().splitlines())


@pytest.mark.parametrize("backend", [HashMapStateBackend(), EmbeddedRocksDBStateBackend(True)], ids=["heap", "rocksdb"])
def test_a_field_is_added_and_another_dropped_and_a_changed_type_ends_the_job_at_once(
    spark: Any, tmp_path: Path, program: Callable[[str, str], ModuleType], backend: StateBackend
) -> None:
    inbox, output = tmp_path / "in", tmp_path / "out"
    inbox.mkdir()
    (inbox / "first").write_text("ada\nada\nbob\n")
    old = program("count: int\n    note: str", '{"count": 0, "note": "old"}')
    env = environment(spark, str(tmp_path / "checkpoints"))
    env.set_state_backend(backend)
    client = started(env, spark, old, inbox, output)
    wait_until(lambda: len(lines(output)) == 3, "the first lines are counted")
    savepoint = client.trigger_savepoint(str(tmp_path / "savepoints")).result()
    client.cancel().result()

    new = program('city: str = "Bern"\n    count: int = 0', "{}")
    env = environment(spark, str(tmp_path / "checkpoints"), execution_state__recovery_path=savepoint)
    env.set_state_backend(backend)
    client = started(env, spark, new, inbox, output)
    (inbox / "second").write_text("ada\ncyd\n")
    wait_until(lambda: len(lines(output)) == 5, "the second lines are counted")
    second = client.trigger_savepoint(str(tmp_path / "savepoints")).result()
    client.cancel().result()
    assert lines(output) == [
        "ada:Account(city='Bern', count=3)",
        "ada:Account(count=1, note='old')",
        "ada:Account(count=2, note='old')",
        "bob:Account(count=1, note='old')",
        "cyd:Account(city='Bern', count=1)",
    ]

    wrong = program('city: str = "Bern"\n    count: float = 0.0', "{}")
    env = environment(spark, str(tmp_path / "checkpoints"), execution_state__recovery_path=second)
    env.set_state_backend(backend)
    client = started(env, spark, wrong, inbox, output)
    with pytest.raises(JobExecutionError, match="would not after a restart") as raised:
        client.get_job_execution_result().result()
    assert isinstance(raised.value.__cause__, StateMigrationException)
    message = str(raised.value.__cause__)
    assert all(word in message for word in ("'account'", "'counting'", "'count'", "bank.Account"))

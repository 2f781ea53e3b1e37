"""The programs on the page about sources do what is said of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from rekindle.datastream import StreamExecutionEnvironment
from rekindle.runtime.operators.function_source import FunctionSourceOperator
from rekindle.testing import OperatorHarness
from support.in_process_job import InProcessJob
from support.processes import wait_until

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / "sources.md").read_text(), re.DOTALL | re.MULTILINE)


def names_of(part: str) -> dict[str, Any]:
    (block,) = [block for block in BLOCKS if part in block]
    names: dict[str, Any] = {}
    exec(compile(block, "sources.md", "exec"), names)
    return names


def polled(harness: OperatorHarness, count: int) -> list[int]:
    """Poll a source until it has emitted so many records, or has ended."""
    operator: Any = harness.operator
    values: list[int] = []

    def done() -> bool:
        while len(values) < count and (chunk := operator.poll(count - len(values))) is not None:
            values.extend(chunk.values)
        operator.advance_processing_time(0)
        return len(values) == count or bool(operator.finished())

    wait_until(done, f"the source has emitted {count} records or has ended")
    return values


def test_the_counter_goes_on_where_it_was() -> None:
    counter = names_of("class CounterSource")["CounterSource"]
    last = 5_000  # more than waits for the slot at first: the function is in its loop when the snapshot is taken
    first = OperatorHarness(FunctionSourceOperator(counter(last)))
    assert polled(first, 3) == [0, 1, 2]
    snapshot = first.snapshot()
    first.close()
    again = OperatorHarness(FunctionSourceOperator(counter(last)), restored=[snapshot])
    assert polled(again, last) == list(range(3, last))
    again.close()


def test_the_counter_of_the_page_is_that_of_the_example() -> None:
    (block,) = [block for block in BLOCKS if "class CounterSource" in block]
    example = (ROOT / "examples" / "counter_source.py").read_text()
    for method in ("__init__", "initialize_state", "cancel", "snapshot_state"):
        pattern = rf"    def {method}\(.*?(?=\n    def |\n\n\n|\Z)"
        found = [re.search(pattern, text, re.DOTALL) for text in (block, example)]
        assert all(found)
        assert len({match.group().strip() for match in found if match}) == 1


def test_records_are_made_up_as_the_page_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StreamExecutionEnvironment, "execute", lambda env, name: None)
    env = names_of("DataGeneratorSource(")["env"]
    with InProcessJob(env) as job:
        job.run_epoch()
        job.clock.advance(1_000)
        (report,) = job.run_epoch()
        assert report.records_polled == 500


def test_files_are_described_without_spark() -> None:
    names = names_of("read_text_file")
    assert names["lines"].get_name() == "Custom File Source"
    assert names["stream"].get_name() == "lines"

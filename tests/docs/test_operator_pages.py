"""The programs in the pages on asynchronous requests and custom operators do what is said of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rekindle.datastream import StreamExecutionEnvironment
from rekindle.testing import OperatorHarness
from support.in_process_job import InProcessJob, collect

DOCS = Path(__file__).resolve().parents[2] / "docs"


@dataclass(frozen=True)
class Event:
    user: str


class DatabaseClient:
    async def query(self, user: str) -> str | None:
        return {"ada": "London"}.get(user)


def run(page: str, **names: Any) -> dict[str, Any]:
    """Run all blocks of a page, one after the other."""
    for block in re.findall(r"^```python\n(.*?)^```$", (DOCS / page).read_text(), re.DOTALL | re.MULTILINE):
        exec(compile(block, page, "exec"), names)
    return names


def test_asynchronous_requests() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    orders = env.from_collection([("ada", 3), ("nobody", 1)])
    names = run("async-io.md", orders=orders, DatabaseClient=DatabaseClient)
    collect(names["results"])
    assert names["AsyncDatabaseRequest"]().timeout(("bob", 2)) == ["bob in an unknown place: 2"]
    with InProcessJob(env) as job:
        assert job.run_to_end() == ["ada in London: 3"]


def test_custom_operators() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    event = Event("ada")
    names = run("custom-operators.md", events=env.from_collection([event]), first=event, second=event)
    harness = OperatorHarness.keyed(names["CountUntilQuiet"](), lambda event: event.user)
    harness.process(Event("ada"), Event("bob"), timestamps=[0, 50_000])
    assert harness.advance_watermark(60_000) == [("ada", 1)]
    assert harness.advance_watermark(110_000) == [("bob", 1)]

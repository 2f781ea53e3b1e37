"""The upgrade of docs/upgrading.md: the programs of examples/, and all they write over both versions."""

from __future__ import annotations

import re
import runpy
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rekindle.common import Configuration, JobStatus
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.exceptions import StateRestoreError
from rekindle.runtime.master.job_master import JobMaster
from rekindle.testing import local_environment
from support.balances import read_output
from support.paced_cluster import PacedCluster
from support.processes import wait_until

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
PAGE = ROOT / "docs" / "upgrading.md"
COUNT = 2_000
ORDER = re.compile(r"order (\d+): (c\d+) has spent (\d+) on (\d+) orders(?:, (\d+) at most)?")
VISIT = re.compile(r"visit (\d+): (c\d+)(?: was here (\d+) times)?")
GIFT = re.compile(r"gift for (c\d+), after (\d+) orders")


class Operator:
    """Does what the page does with the command line: runs a program with settings, in a thread, and stops its job."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, cluster: PacedCluster, output: Path) -> None:
        self._monkeypatch = monkeypatch
        self._cluster = cluster
        self._output = output
        self._masters: list[JobMaster] = []
        submit = StreamExecutionEnvironment._submit

        def submitted(env: Any, *arguments: Any) -> JobMaster:
            self._masters.append(submit(env, *arguments))
            return self._masters[-1]

        monkeypatch.setattr(StreamExecutionEnvironment, "_submit", submitted)

    def run(self, program: str, **settings: str) -> Any:
        """Run a program to its end: ``rekindle run -D key=value PROGRAM OUTPUT COUNT``."""
        keys = {key.replace("__", "-").replace("_", "."): value for key, value in settings.items()}
        given = Configuration.from_dict({"rekindle.progress": "none", **keys})
        environment = staticmethod(lambda: local_environment(2, given, self._cluster))
        self._monkeypatch.setattr(StreamExecutionEnvironment, "get_execution_environment", environment)
        self._monkeypatch.setattr(sys, "argv", [program, str(self._output), str(COUNT)])
        return runpy.run_path(str(EXAMPLES / program), run_name="__main__")

    def run_and_stop(self, program: str, savepoints: Path, when: Callable[[], bool]) -> str:
        """Run a program, and stop its job with a savepoint in the middle: ``rekindle stop shop``."""
        with ThreadPoolExecutor(1) as pool:
            program_run = pool.submit(self.run, program, state_savepoints_dir=f"file://{savepoints}")
            wait_until(lambda: program_run.done() or when(), "it is time to stop")
            assert not program_run.done(), program_run.exception()
            [master] = self._masters
            location = master.stop_with_savepoint(None, False).result(60)
            program_run.result(60)
        assert master.status is JobStatus.FINISHED
        return location


def test_a_job_is_stopped_changed_and_goes_on_without_losing_anything(
    local_cluster: PacedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "out"
    operator = Operator(monkeypatch, local_cluster, output)
    location = operator.run_and_stop(
        "upgrade_v1.py", tmp_path / "savepoints", lambda: output.exists() and len(read_output(str(output))) > 300
    )
    before = read_output(str(output))
    assert location.startswith(f"file://{tmp_path}/savepoints/savepoint-")

    with pytest.raises(StateRestoreError) as refused:
        operator.run("upgrade_v2.py", execution_state__recovery_path=location)
    assert without_numbers(f"error: {refused.value}") in without_numbers(PAGE.read_text())
    assert read_output(str(output)) == before
    assert (tmp_path / "out-checkpoints").is_dir()

    operator.run(
        "upgrade_v2.py",
        execution_state__recovery_path=location,
        execution_state__recovery_ignore__unclaimed__state="true",
    )
    after = list((Counter(read_output(str(output))) - Counter(before)).elements())
    judge(before, after)
    assert [path.name for path in output.iterdir() if path.name.startswith(".")] == []


def without_numbers(text: str) -> str:
    """Make texts comparable in which savepoints have other numbers and directories, and lines are broken elsewhere."""
    return " ".join(re.sub(r"savepoint \d+|/[\w/.-]+/savepoint-\w+-\w+", "_", text).split())


def judge(before: list[str], after: list[str]) -> None:
    """Compare what both versions wrote with what plain Python makes of the numbers of the records."""
    prices = {number: number * 37 % 90 + 10 for number in range(COUNT)}
    customers = {number: f"c{number * 7919 % 20}" for number in range(COUNT)}

    orders: dict[str, dict[int, tuple[int, int, int | None]]] = defaultdict(dict)
    seen: Counter[int] = Counter()
    for line in [*before, *after]:
        if match := ORDER.fullmatch(line):
            number, customer, spent, place, largest = match.groups()
            seen[int(number)] += 1
            assert customers[int(number)] == customer
            orders[customer][int(place)] = (int(number), int(spent), None if largest is None else int(largest))
    assert seen == dict.fromkeys(range(COUNT), 1), "every order was processed once, by one of the versions"
    assert 0 < sum(bool(ORDER.fullmatch(line)) for line in before) < COUNT

    since: Counter[str] = Counter()
    for customer, numbered in orders.items():
        assert sorted(numbered) == list(range(1, len(numbered) + 1)), "the second version counts on from the first"
        total, highest, upgraded = 0, 0, False
        for _, (number, spent, largest) in sorted(numbered.items()):
            total += prices[number]
            assert spent == total
            assert (largest is not None) >= upgraded, "what comes after the upgrade is not of the first version"
            if largest is not None:
                upgraded = True
                since[customer] += 1
                highest = max(highest, prices[number])
                assert largest == highest, "the new field begins with its default"

    gifts = [match.groups() for line in after if (match := GIFT.fullmatch(line))]
    expected = [(c, str(n)) for c, count in since.items() for n in range(10, count + 1, 10)]
    assert sorted(gifts) == sorted(expected), "what is new counts from the upgrade on"

    visits = [match.groups() for line in [*before, *after] if (match := VISIT.fullmatch(line))]
    assert sorted(int(number) for number, _, _ in visits) == list(range(COUNT))
    counted: Counter[tuple[str, int]] = Counter((customer, int(times)) for _, customer, times in visits if times)
    times = Counter(customer for customer, _ in counted)
    assert counted == {(c, n): 1 for c, count in times.items() for n in range(1, count + 1)}
    assert len(orders) == len(times) == 20
    assert len(before) + len(after) == 2 * COUNT + len(gifts)

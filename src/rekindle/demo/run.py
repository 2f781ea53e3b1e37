"""Runs the demonstration and tells what happens as it happens."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TextIO

from rich.console import Console

from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.demo.job import CHECKPOINT_INTERVAL_MS, USERS, build
from rekindle.demo.verification import Verdict, verify
from rekindle.runtime.master.job_master import JobMaster
from rekindle.runtime.master.views.checkpoint_lines import describe_checkpoint
from rekindle.runtime.master.views.progress import EpochSummary, ProgressView
from rekindle.runtime.master.views.start_times import Phase, describe_start

_KILL_AFTER_CHECKPOINTS = 2


class DemoView(ProgressView):
    """Tell the story, and kill a slot in the middle of it."""

    def __init__(self, console: Console, events: int) -> None:
        super().__init__("demo")
        self._console = console
        self._events = events
        self._started = time.monotonic()
        self._counted = 0
        self._at_checkpoint = 0
        self._checkpoints = 0
        self.killed: int | None = None
        self.master: JobMaster | None = None

    def attempt_started(self, attempt: int, checkpoint_id: int | None) -> None:
        assert self.master is not None
        pids = ", ".join(f"slot {slot}: pid {pid}" for slot, pid in sorted(self.master.slot_pids().items()))
        if attempt == 0:
            self.say(f"running ({pids})")
        else:
            source = "the beginning" if checkpoint_id is None else f"checkpoint {checkpoint_id}"
            self._counted = self._at_checkpoint
            self.say(f"[bold]back, from {source}[/bold]: {self._counted:,} events counted, new slots ({pids})")

    def epoch_finished(self, summary: EpochSummary) -> None:
        self._counted += summary.polled
        rate = summary.polled / max(summary.seconds, 1e-9)
        self.say(f"epoch {summary.epoch:>3}   {self._counted:>9,} events   {rate:>9,.0f} events/s")
        middle = self._counted >= self._events // 2 and self._checkpoints >= _KILL_AFTER_CHECKPOINTS
        if self.killed is None and middle:
            self._kill()

    def checkpoint_completed(self, checkpoint: CompletedCheckpoint) -> None:
        self._checkpoints += 1
        self._at_checkpoint = self._counted
        self.say(f"[green]checkpoint {describe_checkpoint(checkpoint)} is complete[/green]")

    def failed(self, error: BaseException, delay_ms: int | None) -> None:
        follow = "the job fails" if delay_ms is None else f"restart in {delay_ms} ms"
        self.say(f"[red]failure:[/red] {str(error).splitlines()[0]}; {follow}")

    def recovered(self, attempt: int, milliseconds: Mapping[Phase, int]) -> None:
        self.say(f"working again, {describe_start(milliseconds)}")

    def ended(self, status: str) -> None:
        self.say(status)

    def show(self, text: str, stream: TextIO | None) -> None:
        self._console.print(text, end="", markup=False)

    def say(self, text: str) -> None:
        """Print a line with the time since the start."""
        self._console.print(f"[dim]{time.monotonic() - self._started:6.1f} s[/dim]  {text}", highlight=False)

    def _kill(self) -> None:
        assert self.master is not None
        pids = self.master.slot_pids()
        if pids:
            slot, pid = max(pids.items())
            self.killed = pid
            self.say(f"[bold red]kill -9 {pid}[/bold red] (slot {slot}, with the state of half of the users)")
            os.kill(pid, signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class DemoResult:
    """Tell how the demonstration went.

    Attributes:
        verdict: What came out, compared with the truth.
        killed: The process that was killed; None: the job was over too soon.
        directory: Where output and checkpoints are, if they are kept.
    """

    verdict: Verdict
    killed: int | None
    directory: str | None

    @property
    def passed(self) -> bool:
        """Return whether a process was killed, and every event was still counted exactly once."""
        return self.killed is not None and self.verdict.exactly_once

    def as_dict(self) -> dict[str, Any]:
        """Return the result as a document."""
        verdict = self.verdict
        return {
            "passed": self.passed,
            "killed_pid": self.killed,
            "in": verdict.events,
            "out": verdict.written,
            "lost": verdict.lost,
            "duplicated": verdict.duplicated,
            "wrong_balances": verdict.wrong_balances,
            "directory": self.directory,
        }


def run_demo(events: int, keep: str | None, console: Console) -> DemoResult:
    """Run the demonstration, and tell about it on a console."""
    directory = keep or tempfile.mkdtemp(prefix="rekindle-demo-")
    os.makedirs(directory, exist_ok=True)
    try:
        console.print(
            f"{events:,} payments of {USERS:,} users; a running balance per user in keyed state; a checkpoint every "
            f"{CHECKPOINT_INTERVAL_MS / 1000:.0f} s; results in files, committed with the checkpoints.\n"
            "In the middle, one of the two processes that hold the state is killed with SIGKILL.\n",
            highlight=False,
        )
        view = DemoView(console, events)
        view.say("starting Spark on this machine …")
        environment = build(events, directory, parallelism=2)
        try:
            master = environment._submit("demo", None, view)
            view.master = master
            master.result.result()
        finally:
            environment.close()
        view.say("reading the output and comparing it with the truth, computed in plain Python …")
        result = DemoResult(verify(events, f"{directory}/balances"), view.killed, directory if keep else None)
        _report(result, console)
        return result
    finally:
        if keep is None:
            shutil.rmtree(directory, ignore_errors=True)


def _report(result: DemoResult, console: Console) -> None:
    verdict = result.verdict
    console.print()
    console.print(f"  in          {verdict.events:>9,}", highlight=False)
    console.print(f"  out         {verdict.written:>9,}", highlight=False)
    console.print(f"  lost        {verdict.lost:>9,}", highlight=False)
    console.print(f"  duplicated  {verdict.duplicated:>9,}", highlight=False)
    if verdict.wrong_balances:
        console.print(f"  wrong balances {verdict.wrong_balances:,}", highlight=False)
    console.print()
    if result.killed is None:
        console.print("[red]No process was killed: the job was over too soon. Try more events (--events).[/red]")
    elif not verdict.exactly_once:
        console.print("[red]The output is wrong.[/red]")
    else:
        console.print("[bold green]Every event was counted exactly once.[/bold green]")
        if result.directory is not None:
            console.print(f"Output and checkpoints are in {result.directory}", highlight=False)

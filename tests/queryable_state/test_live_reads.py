"""A live read shows what some record left, never anything in between, and costs the job no more than a share."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from threading import RLock
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from rekindle.common import Types
from rekindle.datastream.functions import KeyedProcessFunction, RuntimeContext
from rekindle.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from rekindle.exceptions import NoStateOwnerError
from rekindle.queryable_state import QueryableStateError, UnknownKeyError
from rekindle.runtime.slot.queries.live_reads import LOOK_SECONDS, LiveReads, Read
from rekindle.state.queryable_state import StateBusyError
from support.processes import wait_until
from support.queryable_jobs import running, settings


class TakesItsTime(KeyedProcessFunction):
    """Change each state in several steps for each record, such that between records all of it agrees."""

    def open(self, runtime_context: RuntimeContext) -> None:
        value, pairs = (
            ValueStateDescriptor("sum", Types.LONG()),
            MapStateDescriptor("pairs", Types.LONG(), Types.LONG()),
        )
        elements = ListStateDescriptor("elements", Types.LONG())
        for described in (value, pairs, elements):
            described.set_queryable(described.get_name())
        self._sum, self._pairs = runtime_context.get_state(value), runtime_context.get_map_state(pairs)
        self._elements = runtime_context.get_list_state(elements)

    def process_element(self, value: tuple[str, int], ctx: KeyedProcessFunction.Context) -> None:
        number = value[1]
        self._pairs.put(0, number)
        self._elements.add(number)
        self._sum.update(-1)  # what no record leaves behind
        time.sleep(0)
        self._pairs.put(1, number)
        self._elements.add(-number)
        self._sum.update(number)


@pytest.mark.parametrize("rocksdb", [False, True], ids=["heap", "rocksdb"])
@examples(max_examples=5)
@given(numbers=st.lists(st.integers(1, 50), min_size=1, max_size=400), readers=st.integers(1, 4))
def test_a_live_read_never_shows_a_value_that_no_record_produced(
    rocksdb: bool, numbers: list[int], readers: int
) -> None:
    def build(env: Any, stream: Any) -> None:
        stream.key_by(lambda record: record[0], Types.STRING()).process(TakesItsTime())

    wrong: list[Any] = []
    done = threading.Event()
    with running(build, settings(rocksdb), 1, checkpoint_ms=20) as job:
        ask = job.client.get_kv_state

        def read() -> None:
            seen = 0
            while not done.is_set():
                try:
                    pairs: Any = ask(job.job_id, "pairs", "a").result(30)
                    elements: Any = ask(job.job_id, "elements", "a").result(30)
                    total: Any = ask(job.job_id, "sum", "a").result(30)
                except UnknownKeyError:
                    continue
                held, both = elements.get(), dict(pairs.items())
                if total.value() not in numbers or both.get(0) != both.get(1):
                    wrong.append((total.value(), both))
                if held != [part for number in numbers[: len(held) // 2] for part in (number, -number)]:
                    wrong.append(held)
                if len(held) < seen:  # and it never goes back while nothing fails
                    wrong.append((seen, held))
                seen = len(held)

        threads = [threading.Thread(target=read) for _ in range(readers)]
        for thread in threads:
            thread.start()
        for number in numbers:
            job.feed.put(("a", number))
        job.feed.put(("last", 1))
        while not done.is_set():
            try:
                ask(job.job_id, "sum", "last").result(30)
                done.set()
            except UnknownKeyError:
                pass
        for thread in threads:
            thread.join()
    assert wrong == []


class FailsHalfWay(KeyedProcessFunction):
    """Leave behind what nobody should see, and raise."""

    def open(self, runtime_context: RuntimeContext) -> None:
        described = ValueStateDescriptor("value", Types.LONG())
        described.set_queryable("value")
        self._value = runtime_context.get_state(described)

    def process_element(self, value: tuple[str, int], ctx: KeyedProcessFunction.Context) -> None:
        self._value.update(-1)
        if value[1] < 0:
            raise ValueError("half way")
        self._value.update(value[1])


def test_nobody_sees_what_a_function_that_raised_has_left_behind(local_cluster: object) -> None:
    def build(env: Any, stream: Any) -> None:
        stream.key_by(lambda record: record[0], Types.STRING()).process(FailsHalfWay())

    seen: set[int] = set()
    with running(build, {**settings(), "restart-strategy.type": "none"}, 1) as job:
        job.feed.put(("a", 1))
        job.shows("value", "a", 1)
        job.feed.put(("a", -1))
        while not job.master.result.done():
            with suppress(QueryableStateError):
                seen.add(job.ask("value", "a", timeout=0.1))
    assert seen <= {1}


class Steps(Read):
    """Take some steps, each of which takes some time of a clock that only moves with them."""

    def __init__(self, clock: list[float], steps: int, seconds: float, busy: int = 0) -> None:
        self._clock = clock
        self._left = steps
        self._seconds = seconds
        self._busy = busy
        self.finished = threading.Event()

    def step(self) -> bool:
        if self._busy:
            self._busy -= 1
            raise StateBusyError
        self._clock[0] += self._seconds
        self._left -= 1
        return not self._left

    def finish(self) -> None:
        self.finished.set()


def test_reads_take_no_more_than_a_share_of_the_time_of_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    from rekindle.runtime.slot.queries import live_reads

    clock = [0.0]
    monkeypatch.setattr(live_reads, "time", type("Clock", (), {"monotonic": staticmethod(lambda: clock[0])}))
    lock = RLock()
    reads = LiveReads(lock)
    with lock:  # as a task that processes a chunk
        read = Steps(clock, 1_000, 0.001)
        reads.add(read)
        served = []
        while reads.waiting:
            before = clock[0]
            reads.after_chunk(0.08)
            served.append(clock[0] - before)
        assert max(served) <= 0.08 / live_reads.SHARE + 0.001 + 1e-9
        assert len(served) == 100
    assert read.finished.wait(30)
    reads.close()
    with pytest.raises(NoStateOwnerError):
        reads.add(read)


def test_a_read_that_has_to_wait_holds_up_nobody_else() -> None:
    lock = RLock()
    reads = LiveReads(lock)
    waits, goes = Steps([0.0], 1, 0, busy=3), Steps([0.0], 1, 0)
    with lock:
        reads.add(waits)
        reads.add(goes)
        reads.after_chunk(0.0)
        reads.after_chunk(0.0)
    assert goes.finished.wait(30)
    assert waits.finished.wait(30)
    reads.close()


def test_reads_are_served_while_no_records_come() -> None:
    reads = LiveReads(RLock())
    read = Steps([0.0], 10, 0)
    reads.add(read)
    assert read.finished.wait(30)
    reads.close()


def test_a_read_of_state_that_is_busy_is_tried_again_after_a_while_only() -> None:
    class Busy(Read):
        tries = 0

        def step(self) -> bool:
            self.tries += 1
            raise StateBusyError

        def finish(self) -> None:
            raise AssertionError("it is never done")

    reads, read = LiveReads(RLock()), Busy()
    started = time.monotonic()
    reads.add(read)
    wait_until(lambda: read.tries >= 5, "it is tried again")
    reads.close()
    assert read.tries <= (time.monotonic() - started) / LOOK_SECONDS + 2

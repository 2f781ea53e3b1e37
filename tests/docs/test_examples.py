"""Every program in examples/ runs, and prints what plain Python computes from its input.

Each example has a check here, which is given the names of the program and the lines that it printed. They run in this
process, but for those that use Spark themselves; ``tests/docs/test_readme.py`` runs the first one as a user would.
"""

from __future__ import annotations

import re
import runpy
import sys
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest

from rekindle.common import Configuration
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.testing import local_environment
from support.paced_cluster import PacedCluster

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
TESTED_ELSEWHERE = {
    "custom_serializer.py": "tests/docs/test_evolution_page.py",
    "quickstart.py": "tests/docs/test_readme.py",
    "upgrade_v1.py": "tests/integration/test_upgrade_story.py",
    "upgrade_v2.py": "tests/integration/test_upgrade_story.py",
}

Names = dict[str, Any]
Check = Callable[[Names, list[str]], None]
CHECKS: dict[str, Check] = {}


def of(command: str) -> Callable[[Check], Check]:
    """Register the check of a program: its file, and the arguments if it is given some."""

    def register(check: Check) -> Check:
        CHECKS[command] = check
        return check

    return register


def grouped(records: list[Any], key: int = 0) -> dict[Any, list[Any]]:
    groups = defaultdict(list)
    for record in records:
        groups[record[key]].append(record)
    return groups


def same(printed: list[str], expected: list[str]) -> None:
    """Compare without regard to the order, and to the subtask: ``2> line``, or ``name:2> line``."""
    without_subtask = [re.sub(r"^\d+> |(?<=\w):\d+(?=> )", "", line, count=1) for line in printed]
    assert sorted(without_subtask) == sorted(expected)


# --- the four classic uses of state ---


@of("pattern_in_sequence.py")
def pattern_in_sequence(names: Names, printed: list[str]) -> None:
    expected = [
        f"alert: {card} paid {amount:.2f} at second {second}, after a small payment at {tried}"
        for payments in grouped(names["payments"]).values()
        for (card, tried, first), (_, second, amount) in pairwise(payments)
        if first < 1 and amount > 500 and second - tried <= 60
    ]
    assert len(expected) == 2
    same(printed, expected)


@of("aggregates_per_minute_hour_day.py")
def aggregates_per_minute_hour_day(names: Names, printed: list[str]) -> None:
    expected = []
    for name, length, rest in (("minute", 16, ""), ("hour", 13, ":00"), ("day", 10, "")):
        counts = Counter((page, time[:length] + rest) for page, time in names["page_views"])
        expected += [f"{name}> ({page},{count},{start})" for (page, start), count in counts.items()]
    same(printed, expected)


@of("online_model.py")
def online_model(names: Names, printed: list[str]) -> None:
    found = [
        re.fullmatch(r"(?:\d+> )?(\w+) .*off by (.+) at most, temperature = (.+) \* speed \+ (.+)", line)
        for line in printed
    ]
    assert len(found) == 10
    for machine, truth in names["truth"].items():
        of_machine = [match for match in found if match and match[1] == machine]
        errors = [float(match[2]) for match in of_machine]
        assert errors == sorted(errors, reverse=True)
        assert errors[-1] < 0.01 < 10 < errors[0]
        assert (float(of_machine[-1][3]), float(of_machine[-1][4])) == truth


@of("entity_history.py")
def entity_history(names: Names, printed: list[str]) -> None:
    history = {article: sorted(prices, key=lambda p: p[1]) for article, prices in grouped(names["prices"]).items()}
    expected = []
    for article, day, who in names["questions"]:
        index = bisect_right(history[article], day, key=lambda price: price[1])
        price = history[article][index - 1][2] if index else "nothing yet"
        expected.append(f"{who}: on day {day} {article} cost {price}")
    same(printed, expected)


# --- working with state ---


@of("count_window_average.py")
def count_window_average(names: Names, printed: list[str]) -> None:
    assert names["numbers"] == [(1, 3), (1, 5), (1, 7), (1, 4), (1, 2)]
    assert printed == ["(1,4)", "(1,5)"]  # as Flink's documentation has it


@of("state_ttl.py")
def state_ttl(names: Names, printed: list[str]) -> None:
    visits = names["visits"]
    times = list(accumulate(seconds for seconds, _, _ in visits))
    for now, (now_time, (_, visitor, _)) in enumerate(zip(times, visits, strict=True)):
        of_visitor = [
            (time, page) for time, (_, who, page) in zip(times, visits[: now + 1], strict=False) if who == visitor
        ]
        pages = sorted({page for time, page in of_visitor if now_time - time < 1})
        assert printed[now] == f"{visitor} has seen {', '.join(pages)} of late; points: {len(of_visitor)}"
    assert len(printed) == len(visits)


@of("keyed_state.py")
def keyed_state(names: Names, printed: list[str]) -> None:
    ada = [line for line in printed if "ada: visit" in line]
    assert ada[-1].endswith("visit 3, bought tea, pen, tea within the hour, spent 10 on tea, at most 6, 4.0 on average")


@of("arrow_batches.py")
def arrow_batches(names: Names, printed: list[str]) -> None:
    totals = dict(line.split("total> ")[1].split() for line in printed if line.startswith("total"))
    assert totals == {"pear": "8", "plum": "7", "fig": "1"}
    assert sum(line.startswith("basket") for line in printed) >= 5


@of("map_with_state.py")
def map_with_state(names: Names, printed: list[str]) -> None:
    expected = []
    for device, readings in grouped(names["readings"]).items():
        degrees = [reading[1] for reading in readings]
        expected += [f"map> {device} {count}: {now}" for count, now in enumerate(degrees, 1)]
        expected += [f"flat map> {device} went from {a} to {b}" for a, b in pairwise(degrees) if a != b]
        highest = [-1000, *accumulate(degrees, max)]
        expected += [f"filter> {(device, b)}" for a, b in pairwise(highest) if a != b]
    same(printed, expected)


@of("state_backends.py")
def state_backends(names: Names, printed: list[str]) -> None:
    counts = [str((word, count)) for word, n in Counter(names["words"]).items() for count in range(1, n + 1)]
    backends = ("hashmap", "rocksdb", "MemoryStateBackend", "FsStateBackend", "RocksDBStateBackend")
    same(printed, [f"{backend}> {count}" for backend in backends for count in counts])


@of("operator_state.py")
def operator_state(names: Names, printed: list[str]) -> None:
    each = names["LAST"] // 2
    assert printed == [
        line
        for subtask in range(2)
        for line in (
            f"subtask {subtask} has numbered {each} records from 1 to {each}",
            f"since the failure, subtask {subtask} knows of subtasks [0, 1]",
        )
    ]
    numbered = [(subtask, number) for subtask in range(2) for number in range(1, each + 1)]
    assert [record[:2] for record in names["collected"]] == numbered


@of("composite_serializers.py")
def composite_serializers(names: Names, printed: list[str]) -> None:
    expected, prices, history = [], defaultdict(dict), defaultdict(list)
    for shop, article, price in names["offers"]:
        prices[shop][article] = round(price * 100) / 100
        history[shop].append(prices[shop][article])
        expected.append(f"{shop}: {prices[shop]} after {history[shop]}")
    same(printed[: len(expected)], expected)
    assert printed[len(expected) :] == [
        "compatible as is",
        "incompatible: part 1: the type was CentsSerializer and is NameSerializer now",
        "incompatible: ArraySerializer is configured otherwise than before",
    ]


# --- time ---


@of("count_with_timeout.py")
def count_with_timeout(names: Names, printed: list[str]) -> None:
    """A count is told if time has reached the minute's end before the user's next click comes."""
    clicks = names["clicks"]
    expected = []
    for index, (user, second) in enumerate(clicks):
        later = clicks[index + 1 :]
        reached = next((n for n, (_, time) in enumerate(later) if time > second + 60), len(later))
        next_click = next((n for n, (who, _) in enumerate(later) if who == user), len(later) + 1)
        if reached < next_click:
            count = sum(who == user for who, _ in clicks[: index + 1])
            expected.append(f"{user}: {count} clicks up to second {second}")
    assert len(expected) == 3
    same(printed, expected)


@of("watermarks.py")
def watermarks(names: Names, printed: list[str]) -> None:
    events = names["events"]
    for name, behind in (("monotonous", 1), ("two behind", 3), ("may be idle", 1), ("own generator", 0)):
        counted = [time if name != "own generator" or remark else None for time, remark in events]
        expected = []
        for index, (time, _) in enumerate(events):
            before = [earlier for earlier in counted[:index] if earlier is not None]
            watermark = max(before) - behind if before else "none yet"
            expected.append(f"{name}> event of time {time}, watermark before it: {watermark}")
        assert [line for line in printed if line.startswith(name)] == expected


# --- windows and side outputs ---


@of("window_functions.py")
def window_functions(names: Names, printed: list[str]) -> None:
    windows = defaultdict(list)
    for reading in names["readings"]:
        windows[reading[0], reading[1] // 10 * 10].append(reading)
    expected = []
    for (sensor, start), readings in windows.items():
        degrees = [reading[2] for reading in readings]
        expected.append(f"coldest> {min(readings, key=lambda reading: reading[2])}")
        expected.append(f"average> {sensor}, {start} s: {sum(degrees) / len(degrees):.1f}")
        for run in range(1, len(degrees) // 2 + 1):
            expected.append(f"early> {sensor}, {start} s, result {run}: {degrees[: 2 * run]}")
    same(printed, expected)


@of("session_windows.py")
def session_windows(names: Names, printed: list[str]) -> None:
    def sessions(gap: Callable[[str], int]) -> Iterator[str]:
        for user, clicks in grouped(names["clicks"]).items():
            merged: list[tuple[int, int, list[str]]] = []
            for _, minute, page in sorted(clicks, key=lambda click: click[1]):
                start, end, pages = merged.pop() if merged and minute <= merged[-1][1] else (minute, minute, [])
                merged.append((start, max(end, minute + gap(page)), [*pages, page]))
            for start, end, pages in merged:
                yield f"{user} from minute {start} to {end}: {', '.join(pages)}"

    same_gap = [f"same gap> {session}" for session in sessions(lambda page: 30)]
    by_page = [f"gap by page> {session}" for session in sessions(lambda page: 120 if page == "film" else 30)]
    assert (len(same_gap), len(by_page)) == (4, 3)
    same(printed, same_gap + by_page)


@of("side_outputs.py")
def side_outputs(names: Names, printed: list[str]) -> None:
    expected = []
    for text in names["texts"]:
        if re.fullmatch(r"-?\d{1,9}", text):
            expected.append(f"number> {text}")
        elif len(text) > 9:
            expected.append(f"too long> {text}")
        else:
            expected.append(f"rejected> {text!r}: {'not a number' if text else 'empty'}")
    same(printed, expected)


@of("late_data.py")
def late_data(names: Names, printed: list[str]) -> None:
    """A window's contents are shown as they are when time passes its end, and again for each event after that."""
    expected, contents, shown = [], defaultdict(list), set()
    time = -1
    for second, name in [*names["events"], (1 << 62, "the end")]:
        start = second // 10 * 10
        if start + 10 + 5 <= time:
            expected.append(f"too late> {name} of second {second}")
            continue
        contents[start].append(name)
        time = max(time, second)
        for window in contents:
            if window + 10 <= time and (window not in shown or window == start):
                shown.add(window)
                expected.append(f"window> {window} to {window + 10}: {', '.join(contents[window])}")
    assert printed == expected
    assert [line[:3] for line in printed].count("too") == 1


# --- several streams ---


@of("connected_streams.py")
def connected_streams(names: Names, printed: list[str]) -> None:
    allowed = [word for word in names["words"] if word not in names["control"]]
    same(printed, [f"word {word}" for word in allowed] + ["number 1", "number 2"])


@of("rides_and_fares.py")
def rides_and_fares(names: Names, printed: list[str]) -> None:
    rides, fares = ({record[0]: record for record in names[name]} for name in ("rides", "fares"))
    expected = [f"matched> ride {ride} {rides[ride][2]}: {fares[ride][2]:.2f}" for ride in rides.keys() & fares.keys()]
    for half, records, others in (("fare", rides, fares), ("ride", fares, rides)):
        for ride in records.keys() - others.keys():
            expected.append(f"unmatched> no {half} for ride {ride} until minute {records[ride][1] + 60}")
    assert len(expected) == 4
    same(printed, expected)


@of("broadcast_rules.py")
def broadcast_rules(names: Names, printed: list[str]) -> None:
    """An item that a rule wants first is found with the next one of its colour that the rule wants second."""
    expected = []
    for name, first, second in names["RULES_GIVEN"]:
        for items in grouped(names["ITEMS"], key=1).values():
            for index, (number, colour, shape) in enumerate(items):
                then = next((n for n, _, later in items[index + 1 :] if later == second), None)
                if shape == first and then is not None:
                    expected.append(f"{name}: {colour} {first} {number}, then {colour} {second} {then}")
    assert len(expected) == 5
    same(printed, expected)


@of("broadcast_rates.py")
def broadcast_rates(names: Names, printed: list[str]) -> None:
    rates, expected = dict(names["rates"]), []
    for payment in names["payments"]:
        amount, currency = payment.split()
        if currency in rates:
            expected.append(f"paid> {payment} are {int(amount) * rates[currency]:.2f} EUR")
        else:
            expected.append(f"no rate for> {currency}")
    same(printed, expected)


@of("joins.py")
def joins(names: Names, printed: list[str]) -> None:
    orders, payments = names["orders"], names["payments"]
    pairs = [(order, payment) for order in orders for payment in payments if order[1] == payment[1]]
    expected = [
        f"interval join> {order[1]} paid {payment[2]} {payment[0] - order[0]} minutes after ordering {order[2]}"
        for order, payment in pairs
        if 0 <= payment[0] - order[0] <= 10
    ]
    expected += [
        f"window join> {order[1]}: {order[2]}, {payment[2]}"
        for order, payment in pairs
        if order[0] // 15 == payment[0] // 15
    ]
    counts = Counter((name, minute // 15) for minute, name, _ in orders)
    other_counts = Counter((name, minute // 15) for minute, name, _ in payments)
    for group in counts | other_counts:
        expected.append(f"co-group> {counts[group]} orders, {other_counts[group]} payments")
    same(printed, expected)


# --- sources, sinks, operators ---


@of("counter_source.py --last 7")
def counter_source(names: Names, printed: list[str]) -> None:
    assert len(printed) == 14
    for subtask in range(2):
        own = [line for line in printed if line.startswith(f"{subtask + 1}> ")]
        assert own == [f"{subtask + 1}> ({subtask}, {number})" for number in range(7)]


@of("buffering_sink.py")
def buffering_sink(names: Names, printed: list[str]) -> None:
    items = [f"{'odd' if n % 2 else 'even'}={n}" for n in range(1, 11)]
    assert printed == [f"written: {' '.join(items[start : start + 4])}" for start in range(0, 10, 4)]


@of("exactly_once_sink.py")
def exactly_once_sink(names: Names, printed: list[str]) -> None:
    last = names["LAST"]
    assert printed == [f"{last} rows of {last} numbers; the largest square is {last * last}"]


@of("async_enrichment.py")
def async_enrichment(names: Names, printed: list[str]) -> None:
    """Every order has its city, in the order of the orders; one request takes too long."""
    assert printed == [
        "ada in London: 3",
        "eve in an unknown place: 7",
        "bob in Bern: 5",
        "cyd in Cadiz: 2",
        "ada in London: 8",
        "dan in Dublin: 4",
    ]


@of("custom_operator.py")
def custom_operator(names: Names, printed: list[str]) -> None:
    same(printed, ["new: ada", "new: bob", "new: cyd", "new: dan"])


@of("iteration.py")
def iteration(names: Names, printed: list[str]) -> None:
    def collatz(number: int) -> int:
        return 0 if number == 1 else 1 + collatz(number // 2 if number % 2 == 0 else 3 * number + 1)

    islands = {"Aa": "Aa", "Bo": "Aa", "Cy": "Aa", "Fa": "Aa", "Du": "Du", "Ek": "Du"}
    expected = [f"{number} takes {collatz(number)} steps" for number in (6, 7, 27)]
    same(printed, expected + [f"{town} is on the island of {island}" for town, island in islands.items()])


@of("queryable_state.py")
def queryable_state(names: Names, printed: list[str]) -> None:
    prices = [price for user, price in names["PURCHASES"] if user == "ann"]
    assert printed == [
        f"ann has spent {sum(prices)}",
        f"for {prices}",
        "and no failure takes that back",
        "bob's last purchase: ('bob', 5)",
        "of three, the job knows ann, cyd",
    ]


# --- fault tolerance ---


@of("checkpointing.py")
def checkpointing(names: Names, printed: list[str]) -> None:
    assert printed == [f"numbers that end in {digit}: 200 400 600" for digit in range(10)]


@of("savepoint.py")
def savepoint(names: Names, printed: list[str]) -> None:
    stopped = printed.index("stopped")
    counted = [line.split("> ")[-1] for line in printed if " numbers are " in line]
    assert set(counted) == {f"{n} numbers are {kind}" for n in range(2_000, 10_001, 2_000) for kind in ("odd", "even")}
    goes_on_with = [int(line.split()[-1]) for line in printed[stopped:] if "begins with" in line]
    assert min(goes_on_with) > 1
    assert min(goes_on_with) % 100 == 1  # after some whole epochs of the first job
    assert sorted(goes_on_with) == [min(goes_on_with), min(goes_on_with) + 1]


@of("state_processor.py")
def state_processor(names: Names, printed: list[str]) -> None:
    balances = dict(names["balances"])
    expected = [f"{user}: {balance}" for user, balance in balances.items()]
    expected += [f"{user} has {max(balances.get(user, 0), 0) + amount}" for user, amount in names["payments"]]
    assert "bob has 10" in expected
    same(printed, expected)


@of("task_failure_recovery.py")
@of("task_failure_recovery.py by-keys")
def task_failure_recovery(names: Names, printed: list[str]) -> None:
    same(printed, ["attempt 1 has processed tea", "attempt 1 has processed ink"])


@of("task_failure_recovery.py none")
def no_recovery(names: Names, printed: list[str]) -> None:
    assert printed[0].startswith("the job failed for good")
    assert "attempt 0 fails" in "\n".join(printed)


@of("sql_state_sql.py")
def sql_state_sql(names: Names, printed: list[str]) -> None:
    country = dict(names["countries"])
    sessions: Counter[str] = Counter()
    clicks: Counter[str] = Counter()
    for user, visits in grouped(names["clicks"], key=1).items():
        seconds = [second for second, _, page in visits if page != "/health"]
        ends = [place for place, (a, b) in enumerate(pairwise(seconds), 1) if b - a > names["PAUSE"]]
        sessions[country[user]] += len(ends)  # the last one of each is still open
        clicks[country[user]] += ends[-1] if ends else 0
    assert min(sessions.values()) > 10
    assert printed == [f"{name}: {sessions[name]} sessions, {clicks[name]} clicks" for name in sorted(sessions)]


@of("orders_and_payments.py")
def orders_and_payments(names: Names, printed: list[str]) -> None:
    paid, told = matched(names)
    expected = []
    for customer, orders in grouped(paid, key=1).items():
        cents = sum(order[2] for order in orders)
        expected.append(f"{customer} has paid {cents / 100:.2f} for {len(orders)} orders")
    assert sorted(printed) == sorted(expected + told)


@of("orders_and_payments_v2.py")
def orders_and_payments_v2(names: Names, printed: list[str]) -> None:
    paid, told = matched(names)
    expected = []
    for customer, orders in grouped(paid, key=1).items():
        cents = [order[2] for order in orders]
        expected.append(f"{customer} has paid {sum(cents) / 100:.2f}, {max(cents) / 100:.2f} at most for one order")
    [reminder] = [line for line in printed if "unpaid" in line]
    assert re.fullmatch(r"ada has left 2 orders unpaid, o[34] the last of them", reminder)
    assert sorted(printed) == sorted([*expected, *told, reminder])


def matched(names: Names) -> tuple[list[Any], list[str]]:
    """Return the orders that were paid within half an hour, and what is to be printed of all else."""
    payments = dict(names["example_payments"])
    paid = [order for order in names["example_orders"] if abs(payments.get(order[0], 99) - order[3]) <= 30]
    numbers = {order[0] for order in paid}
    told = [f"no payment for {order[0]}" for order in names["example_orders"] if order[0] not in numbers]
    return paid, told + [f"no order for {order}" for order in payments if order not in numbers]


ON_SPARK = ["orders_and_payments.py", "orders_and_payments_v2.py", "sql_state_sql.py", "state_processor.py"]
"""Programs that use Spark themselves."""
AS_ON_SPARK = 0.05
"""Seconds that an epoch takes: some programs fail once there is a checkpoint, and they have one every 100 ms."""


@pytest.mark.parametrize("command", [command for command in CHECKS if command not in ON_SPARK])
def test_the_program_prints_what_its_input_says(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def environment(configuration: Configuration | None = None) -> StreamExecutionEnvironment:
        return local_environment(2, configuration, PacedCluster(AS_ON_SPARK))

    monkeypatch.setattr(StreamExecutionEnvironment, "get_execution_environment", staticmethod(environment))
    run(command, capsys, monkeypatch)


@pytest.mark.parametrize("command", ON_SPARK)
@pytest.mark.usefixtures("spark", "no_slots_left")
def test_the_program_prints_on_spark_what_its_input_says(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(command, capsys, monkeypatch)


def run(command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    program, *arguments = command.split()
    monkeypatch.setattr(sys, "argv", [program, *arguments])
    names = runpy.run_path(str(EXAMPLES / program), run_name="__main__")
    CHECKS[command](names, capsys.readouterr().out.splitlines())


def test_every_program_is_tested() -> None:
    tested = {command.split()[0] for command in CHECKS}
    assert {program.name for program in EXAMPLES.glob("*.py")} == tested | TESTED_ELSEWHERE.keys()
    for program, test in TESTED_ELSEWHERE.items():
        assert program in (ROOT / test).read_text(), f"{test} does not test {program}"


def test_every_program_is_in_the_list_of_examples() -> None:
    listed = re.findall(r"^\| \[(\w+\.py)\]\((\w+\.py)\) \|", (EXAMPLES / "README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted((program.name, program.name) for program in EXAMPLES.glob("*.py"))

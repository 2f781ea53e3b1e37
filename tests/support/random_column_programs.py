"""Programs drawn at random as their authors would write them, in source code, with the tables that they read.

A program is the text of a module with a function ``build``, which is given the rows of a DataFrame and returns the
stream of results. Half of them are imported as modules are, and imported anew where their functions are unpickled; the
others are the user's script, whose functions are pickled whole. What cannot be traced is drawn, too, and what looks as
if it could: each must give with columns what it gives without.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from support.column_cases import TYPES, values_of
from support.random_expressions import BOOL, FLOAT, INT, OTHER, TEXT, Column, Records, Scope, indented
from support.random_functions import Functions

_KINDS = {
    **dict.fromkeys(("int8", "int16", "int32", "int64"), INT),
    **dict.fromkeys(("float32", "float64"), FLOAT),
    "bool": BOOL,
    "string": TEXT,
}
_ODD_NAMES = ("", "count", "index", "of", "_instance", "class", "a b", "_rekindle", "ä", "asDict", "fields")

_HEAD = '''"""A program drawn at random."""

import functools
import math
from typing import Any

import pyarrow as pa

from rekindle.common import Duration, Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import (
    AggregateFunction,
    FilterFunction,
    KeyedBatchFunction,
    KeySelector,
    MapFunction,
    OutputTag,
    ProcessWindowFunction,
    ReduceFunction,
)
from rekindle.datastream.state import StateTtlConfig, ValueStateDescriptor
from rekindle.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows

import shared_module
from shared_module import OTHER, Base, scaled

LATE = OutputTag("late")
SEEN = [0]
COUNTER = 0
KNOWN = {"rate": 2}
'''


SHARED_MODULE = '''"""What programs import."""

LEVEL = 3
OTHER = 5
COUNTED = 0


def scaled(x, by=2):
    return x * by


def lifted(x):
    return x + LEVEL


def counting(x):
    global COUNTED
    COUNTED += 1
    return x


def counted(x):
    return x + COUNTED


class Base:
    level = 4

    def lift(self, x):
        return x + self.level
'''
"""The text of a module of the name ``shared_module``, which every program imports."""


@dataclass
class RandomProgram:
    """A program and what it reads.

    Attributes:
        seed: What it was drawn with.
        source: Its text.
        module: Whether it is imported as a module is, and not the user's script.
        parallelism: The number of subtasks.
        schema: The columns of its rows.
        tables: What each epoch reads.
        batch_rows: Of how many rows the batches are that a task reads.
        settings: Of the environment.
        stop_after: After how many tables it is stopped, and goes on from its savepoint; None: never.
        golden: What it is compared with: columns "off"; or "plain", where keys, too, are made as for any stream.
        side: Whether its results are pairs that begin with "late" or "in time".
        traits: What is odd about it, in words.
    """

    seed: str
    source: str
    module: bool
    parallelism: int
    schema: pa.Schema
    tables: list[pa.Table]
    batch_rows: int
    settings: dict[str, str] = field(default_factory=dict)
    stop_after: int | None = None
    golden: str = "off"
    side: bool = False
    traits: list[str] = field(default_factory=list)


_SHARING = {
    "a class variable that a later operator changes",
    "a decorator",
    "a method with a side effect",
    "another module that changes itself",
    "globals that are changed",
}
"""Traits by which one operator changes what another sees: when it does depends on how records are cut into chunks."""

_ALL_ROWS = 1_000


def random_program(seed: object) -> RandomProgram:
    """Draw a program."""
    return _Author(random.Random(f"program {seed}"), str(seed)).program()


class _Author(Functions):
    # --- operators ---

    def program(self) -> RandomProgram:
        rng = self.rng
        schema = self.schema()
        records = Records("row", tuple(Column(f.name, _KINDS.get(_kind(f.type), OTHER)) for f in schema))
        windowed, untimed = self.focus or self.chance(0.5), True
        parallelism = 1 if self.focus else self.pick(1, 1, 1, 2, 3)
        late = parallelism == 1
        # Records are dealt out to several subtasks that make watermarks, which then send them in any order.
        self.unordered = windowed and parallelism > 1
        self.unique = self.unordered and self.chance(0.4)
        if self.unordered:
            self.hostile = 0.0
        stream = "stream"
        if windowed and self.chance(0.5):
            self.timestamps(records, late)
            untimed = False
        for _ in range(self.pick(0, 0, 0, 1, 1, 2)):
            records = self.step(records, needs_time=windowed and untimed)
        if windowed and untimed:
            self.timestamps(records, late)
            for _ in range(self.pick(0, 0, 1)):
                records = self.step(records, needs_time=False)
        keyed = self.keyed(stream, records)
        if windowed:
            self.windows(keyed, records, late)
        else:
            self.running(keyed, records)
        source = "\n".join(
            [
                _HEAD,
                *self.lines,
                "def build(stream):",
                *indented(self.globals_changed_in_build()),
                *indented([*self.body, *self.after, "return stream"]),
                "",
            ]
        )
        tables = self.tables(schema)
        batch_rows = self.pick(1, 3, 7, 40, 40, 40)
        if not _SHARING.isdisjoint(self.traits):
            batch_rows = _ALL_ROWS
        stop = rng.randint(1, len(tables) - 1) if self.chance(0.12) else None
        settings = {"pipeline.max-parallelism": "128"} if self.chance(0.2) else {}
        if self.chance(0.06):
            settings["rekindle.columns.combine-floats"] = "false"
        return RandomProgram(
            self.seed,
            source,
            self.chance(0.5),
            parallelism,
            schema,
            tables,
            batch_rows,
            settings,
            stop,
            self.pick("off", "off", "plain"),
            self.side,
            self.traits,
        )

    def globals_changed_in_build(self) -> list[str]:
        if not self.hostile or not self.chance(0.25):
            return []
        self.trait("a constant that is changed before the program runs")
        name = self.pick("RATE", "SCALE", "LIMIT", "DERIVED")
        value = self.literal(FLOAT if name == "SCALE" else INT)
        if self.chance(0.5):
            return [f"global {name}", f"{name} = {value}"]
        self.after.append(f"globals()[{name!r}] = {value}")
        return []

    def schema(self) -> pa.Schema:
        rng = self.rng
        columns = [
            ("k", pa.int64()),
            ("s", pa.string()),
            ("i", TYPES[self.pick("int8", "int16", "int32", "int32", "int64", "int64")]),
            ("f", TYPES[self.pick("float32", "float64", "float64", "float64")]),
            ("b", pa.bool_()),
            ("x", TYPES[rng.choice(list(TYPES))]),
            ("t", pa.int64()),
        ]
        if self.chance(0.15):
            columns.append((rng.choice(_ODD_NAMES), TYPES[rng.choice(list(TYPES))]))
        if self.chance(0.3):
            rng.shuffle(columns)
        return pa.schema(columns)

    def timestamps(self, records: Records, late: bool) -> None:
        ints = [p for p in records.places(INT) if records.columns[p].name == "t"] or records.places(INT)
        place = ints[0]
        text = self.access("value", records, place)
        body = text if self.chance(0.8) else f"{text} {self.pick('+ 3', '* 2', '- RATE', '// 2')}"
        own = self.name("Times")
        self.lines += [
            f"class {own}(TimestampAssigner):",
            "    def extract_timestamp(self, value, record_timestamp):",
            f"        return {body}",
            "",
            "",
        ]
        wait = self.pick(0, 20, 60, 150)
        if not late:
            made = "WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(90))"
        elif self.chance(0.5) or not wait:
            made = "WatermarkStrategy.for_monotonous_timestamps()"
        else:
            made = f"WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis({wait}))"
        self.body.append(f"stream = stream.assign_timestamps_and_watermarks({made}.with_timestamp_assigner({own}()))")

    def step(self, records: Records, needs_time: bool) -> Records:
        if self.chance(0.5):
            call = self.function(
                "FilterFunction", "filter", {self.pick("row", "r", "value"): records}, lambda s: self.condition(s, 2)
            )
            self.body.append(f"stream = stream.filter({call})")
            return records
        return self.mapped(records, needs_time)

    def mapped(self, records: Records, needs_time: bool) -> Records:
        """Make other records: tuples of fields and computed values, or single values."""
        value = not needs_time and self.chance(0.12)
        wanted: list[tuple[str, int | None, str]] = []  # kind, place of the field that is carried, name
        if value:
            wanted.append((self.pick(INT, FLOAT), None, ""))
        else:
            keys = [p for p, c in enumerate(records.columns) if c.name == "k"] or records.places(INT, TEXT)
            times = [p for p, c in enumerate(records.columns) if c.name == "t"] or records.places(INT)
            if keys:
                wanted.append((records.columns[keys[0]].kind, keys[0], "k"))
            for _ in range(self.rng.randint(1, 3)):
                if self.chance(0.35):
                    place = self.rng.randrange(len(records.columns))
                    wanted.append((records.columns[place].kind, place, ""))
                else:
                    wanted.append((self.pick(INT, FLOAT, FLOAT), None, ""))
            if times:
                wanted.append((INT, times[0], "t"))
            if self.chance(0.05):
                wanted.append((self.pick(TEXT, BOOL), -1, ""))  # a constant

        def result(scope: Scope) -> str:
            variable = next(iter(scope.records))
            parts = []
            for kind, place, _ in wanted:
                if place == -1:
                    parts.append(self.literal(kind))
                elif place is not None:
                    parts.append(self.access(variable, records, place))
                else:
                    parts.append(self.number(scope, 2, kind))
            return parts[0] if value else f"({', '.join(parts)},)" if len(parts) == 1 else f"({', '.join(parts)})"

        call = self.function("MapFunction", "map", {self.pick("row", "r", "value"): records}, result)
        typed = self.chance(0.5 if self.focus else 0.25)
        typed = f", {self.output_type([kind for kind, _, _ in wanted], value)}" if typed else ""
        self.body.append(f"stream = stream.map({call}{typed})")
        made = tuple(Column(name, kind) for kind, _, name in wanted)
        return Records("value" if value else "tuple", made)

    def output_type(self, kinds: list[str], value: bool) -> str:
        fitting = {INT: "LONG", FLOAT: "DOUBLE", BOOL: "BOOLEAN", TEXT: "STRING", OTHER: "PICKLED_BYTE_ARRAY"}
        types = []
        for kind in kinds:
            name = fitting[kind]
            if kind == INT and self.chance(0.35):
                name = self.pick("INT", "INT", "SHORT", "BYTE", "DOUBLE", "BIG_INT")
            elif kind == FLOAT and self.chance(0.2):
                name = self.pick("FLOAT", "FLOAT", "LONG")
            elif self.chance(0.03):
                name = self.pick("STRING", "LONG", "PICKLED_BYTE_ARRAY")
            types.append(f"Types.{name}()")
        if any("LONG" not in t and "DOUBLE" not in t for t in types):
            self.trait("a typed edge")
        return types[0] if value else f"Types.TUPLE([{', '.join(types)}])"

    def keyed(self, stream: str, records: Records) -> str:
        variable = self.pick("row", "r", "value")
        keys = [p for p, c in enumerate(records.columns) if c.name == "k"]
        keys = keys if keys and (self.unique or self.chance(0.7)) else records.places(INT, TEXT, BOOL) or [0]
        first = self.rng.choice(keys)

        def result(scope: Scope) -> str:
            found = self.access(variable, records, first)
            kind = records.columns[first].kind
            roll = self.rng.random()
            if roll < 0.6 or self.unique or kind not in (INT, FLOAT):
                return found
            if roll < 0.7:
                return f"{found} % 5" if kind == INT else found
            if roll < 0.75:
                return f"{found} > 0"
            if roll < 0.8:
                return f"(-{found} if {found} > 3 else {found})"
            if roll < 0.96:
                return f"({found}, {self.access(variable, records, self.rng.choice(keys))})"
            return self.pick("0", "'all'", "None", "True", "1.0")

        if records.shape != "value" and self.chance(0.06):
            self.trait("an itemgetter")
            self.lines += ["from operator import itemgetter", ""]
            return f"{stream}.key_by(itemgetter({first}))"
        if self.chance(0.2):
            own = self.name("Key")
            scope = Scope("plain", **{variable: records})
            self.lines += [
                f"class {own}(KeySelector):",
                f"    def get_key(self, {variable}):",
                f"        return {result(scope)}",
                "",
                "",
            ]
            return f"{stream}.key_by({own}())"
        typed = ""
        if self.chance(0.05):
            self.trait("a key type")
            typed = f", {self.pick('Types.LONG()', 'Types.LONG()', 'Types.STRING()', 'Types.INT()', 'Types.DOUBLE()')}"
        return f"{stream}.key_by(lambda {variable}: {result(Scope('plain'))}{typed})"

    def running(self, keyed: str, records: Records) -> None:
        roll = self.rng.random()
        if roll < 0.45:
            self.body.append(f"stream = {keyed}.reduce({self.reduction(records)})")
        elif roll < 0.88 and records.places(INT, FLOAT):
            self.body.append(f"stream = {keyed}.{self.by_field(records)}")
        elif roll < 0.92:
            self.body.append(f"stream = {keyed}.{self.by_field(records, odd=True)}")
        else:
            self.batches(keyed)

    def by_field(self, records: Records, odd: bool = False) -> str:
        places = records.places(INT, FLOAT) if not odd else list(range(len(records.columns)))
        place = self.rng.choice(places or [0])
        which = self.pick("sum", "min", "max", "min_by", "max_by")
        if records.shape == "value":
            return f"{which}()"
        name = records.columns[place].name
        position = repr(name) if records.shape == "row" and self.chance(0.7) else str(place)
        last = f", {self.pick('True', 'False')}" if which.endswith("by") and self.chance(0.5) else ""
        return f"{which}({position}{last})"

    def reduction(self, records: Records) -> str:
        """Write a ReduceFunction: how each field of two records is made one."""

        def result(scope: Scope) -> str:
            value = scope.records["b"]
            inner = Scope(scope.form, b=value)
            inner.attributes, inner.helpers = scope.attributes, scope.helpers
            if records.shape == "value":
                return self.fold("a", inner, value.columns[0].kind, "b")
            parts = [
                self.fold(f"a[{place}]", inner, column.kind, self.access("b", records, place))
                for place, column in enumerate(records.columns)
            ]
            return f"({', '.join(parts)},)"

        if self.chance(0.06):
            return self.pick("lambda a, b: b", "lambda a, b: a", "max", "lambda a, b: a if a[0] > b[0] else b")
        return self.function("ReduceFunction", "reduce", {"a": Records("none", ()), "b": records}, result)

    def fold(self, old: str, scope: Scope, kind: str, own: str) -> str:
        """Spell how a field of the accumulator is made of what it was and of a record."""
        if kind not in (INT, FLOAT) or self.chance(0.06 if self.focus else 0.12):
            return self.pick(old, own)
        value = own if self.chance(0.55) else self.number(scope, 1, kind)
        roll = self.rng.random()
        if self.focus and kind == FLOAT:
            roll = self.rng.uniform(0.3, 0.9)
        if self.chance(0.02):
            return self.pick(
                f"{old} * 2 + {value}", f"{value} - {old}", f"-{old}", f"{value} if {value} > 0 else {old}"
            )
        if roll < 0.35:
            return self.pick(f"{old} + {value}", f"{old} + {value}", f"{value} + {old}", f"{old} - {value}")
        if roll < 0.75:
            return self.extreme(old, value, self.pick("min", "max"))
        if roll < 0.85:
            return f"{old} + {self.pick('1', '1', '0', '1.0', '-0.0')}"
        return self.pick(old, value)

    def windows(self, keyed: str, records: Records, late: bool) -> None:
        size = self.pick(50, 100, 120, 7, 1000, 200, 300, 1000)
        if self.chance(0.5):
            offset = f", Time.milliseconds({self.pick(3, 30, 49)})" if size >= 50 and self.chance(0.3) else ""
            window = f"TumblingEventTimeWindows.of(Time.milliseconds({size}){offset})"
        else:
            slide = self.pick(30, 50, size, size * 2, size + 17, max(1, size // 3))
            window = f"SlidingEventTimeWindows.of(Time.milliseconds({size}), Time.milliseconds({slide}))"
        text = f"{keyed}.window({window})"
        if self.focus:
            window = f"TumblingEventTimeWindows.of(Time.milliseconds({self.pick(300, 1000, 1000)}))"
            if self.chance(0.3):
                window = (
                    f"SlidingEventTimeWindows.of(Time.milliseconds(1000), Time.milliseconds({self.pick(300, 500)}))"
                )
            text = f"{keyed}.window({window})"
        side = not self.focus and self.chance(0.25)
        if not self.focus and self.chance(0.2):
            text += f".allowed_lateness({self.pick(40, 90, 400)})"
        self.side = side
        if side:
            text += ".side_output_late_data(LATE)"
        roll = self.rng.random()
        if roll < 0.55 or (self.unordered and not self.unique):
            fold = f"aggregate({self.aggregation(records)})"
        elif roll < 0.8:
            fold = f"reduce({self.reduction(records)})"
        elif records.places(INT, FLOAT):
            fold = self.by_field(records)
        else:
            fold = f"aggregate({self.aggregation(records)})"
        if fold.startswith(("aggregate", "reduce")) and self.chance(0.1):
            self.trait("a window function")
            self.lines += [
                "class Framed(ProcessWindowFunction):",
                "    def process(self, key, context, elements):",
                "        for element in elements:",
                "            yield key, context.window().start, element",
                "",
                "",
            ]
            fold = fold[:-1] + ", Framed())"
        self.body.append(f"results = {text}.{fold}")
        if side:
            self.body.append(
                "stream = results.map(lambda v: ('in time', v))"
                ".union(results.get_side_output(LATE).map(lambda v: ('late', v)))"
            )
        else:
            self.body.append("stream = results")

    def aggregation(self, records: Records) -> str:
        """Write an AggregateFunction down."""
        own = self.name("Aggregate")
        count = self.pick(1, 2, 2, 3, 4)
        single = count == 1 and self.chance(0.6)
        value, accumulator = self.pick(("value", "accumulator"), ("v", "acc"), ("row", "a"))
        scope = Scope("class", **{value: records})
        initial, parts = [], []
        for place in range(count):
            old = accumulator if single else f"{accumulator}[{place}]"
            kind = self.pick(FLOAT, FLOAT, INT) if self.focus else self.pick(INT, INT, FLOAT)
            places = records.places(kind) or records.places(INT, FLOAT)
            if self.unordered and not self.unique:
                begin, part = self.in_any_order(records, value, old)
                initial.append(begin)
                parts.append(part)
                continue
            if not places or self.chance(0.1):
                place_of = self.rng.randrange(len(records.columns))
                initial.append(self.pick("None", "''", "0", "0.0"))
                parts.append(self.access(value, records, place_of))
                continue
            field_text = self.access(value, records, self.rng.choice(places))
            part = self.fold(old, scope, kind, field_text)
            begins = {
                INT: ("0", "0", "1 << 40", "-(1 << 40)") if kind == INT else ("0",),
                FLOAT: ("0.0", "0.0", "math.inf", "-math.inf", "1e9", "-1e9", "-0.0"),
            }
            begin = self.rng.choice(begins[kind if self.chance(0.85) else self.pick(INT, FLOAT)])
            initial.append(begin if self.chance(0.95) else self.pick("RATE", "None", "True", "SCALE", "1 << 70"))
            parts.append(part)
        begin_text = initial[0] if single else f"({', '.join(initial)},)"
        added = parts[0] if single else f"({', '.join(parts)},)"
        create, finish = [], []
        if self.hostile and self.chance(0.3):
            self.trait("an attribute that another method changes")
            scope.attributes.setdefault("rate", self.literal(INT))
            line = self.pick(
                "self.rate += 1",
                "self.rate = 11",
                "type(self).rate = 12",
                "self.__dict__['rate'] = 13",
                "setattr(self, 'rate', self.rate + 1)",
                "vars(self).update(rate=14)",
            )
            (create if self.chance(0.4) else finish).append(line)
            old = accumulator if single else f"{accumulator}[0]"
            added = (
                f"{old} + self.rate"
                if single
                else f"({old} + self.rate, {', '.join(parts[1:])})"
                if len(parts) > 1
                else f"({old} + self.rate,)"
            )
        result = accumulator
        if not single and self.chance(0.3):
            result = self.pick(
                f"{accumulator}[0]",
                f"({accumulator}[0], {accumulator}[-1])",
                f"[*{accumulator}]",
                f"str({accumulator})",
            )
        scope.helpers += [
            "def create_accumulator(self):",
            *indented(create),
            f"    return {begin_text}",
            "",
            f"def get_result(self, {accumulator}):",
            *indented(finish),
            f"    return {result}",
            "",
            "def merge(self, one, other):",
            "    return one",
            "",
        ]
        body = [f"return {added}"]
        if self.chance(0.15):
            body = [f"if {self.condition(scope, 1)}:", f"    return {added}", f"return {accumulator}"]
            if self.chance(0.5):
                body = [f"local = {added}", "return local"]
        return self.a_class(own, "(AggregateFunction)", "add", f"{value}, {accumulator}", body, scope)

    def in_any_order(self, records: Records, value: str, old: str) -> tuple[str, str]:
        """Draw a fold that gives the same whatever the order of records is: what it begins with, and its step."""
        scope = Scope(
            "plain",
            **{
                value: Records(
                    records.shape, tuple(replace(c, kind=c.kind if c.kind == INT else OTHER) for c in records.columns)
                )
            },
        )
        own = self.rng.choice(self.fields(scope, INT) or ["1"])
        if self.chance(0.3):
            own = f"({own} {self.pick('+', '-', '*')} {self.literal(INT) if not self.odd_constants else 3})"
        which = self.pick("sum", "min", "max", "count")
        if which == "sum":
            return self.pick("0", "0", "7"), self.pick(f"{old} + {own}", f"{own} + {old}", f"{old} - {own}")
        if which == "count":
            return "0", f"{old} + 1"
        return self.pick("0", "1 << 40", "-(1 << 40)"), self.extreme(old, own, which)

    def batches(self, keyed: str) -> None:
        """Write a function over Arrow batches: it tells of each row which type its columns had, and counts."""
        own = self.name("Seen")
        ttl = self.chance(0.4)
        if ttl:
            self.trait("time to live")
        self.trait("process_batches")
        self.lines += [
            f"class {own}(KeyedBatchFunction):",
            "    def open(self, runtime_context):",
            "        self.seen = ValueStateDescriptor('seen', Types.LONG())",
            *(
                ["        self.seen.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())"]
                if ttl
                else []
            ),
            "",
            "    def process_batch(self, batch, ctx):",
            "        state = ctx.get_state(self.seen)",
            "        for key, row in zip(ctx.keys.to_pylist(), pa.table(batch).to_pylist()):",
            "            keys = pa.array([key], ctx.keys.type)",
            "            count = (state.get_all(keys).to_pylist()[0] or 0) + 1",
            "            state.update_all(keys, pa.array([count]))",
            "            types = str(list(zip(batch.schema.names, batch.schema.types)))",
            "            yield pa.record_batch([[f'{types} {key!r} {count} {row!r}']], names=['seen'])",
            "",
            "",
        ]
        self.body.append(f"stream = {keyed}.process_batches({own}(), Types.STRING())")

    # --- tables ---

    def tables(self, schema: pa.Schema) -> list[pa.Table]:
        rng = self.rng
        odd_program = self.chance(0.6)
        odds = {f.name: self.column_oddity(f) if odd_program and self.chance(0.45) else "plain" for f in schema}
        if self.focus:
            odds["f"] = self.pick("nan", "nan", "negative zero", "negative zero", "extremes", "plain")
        made = []
        large = not self.unique and (
            self.focus or rng.random() < 0.5
        )  # so many records of a key that it is worthwhile to fold them early
        keys = rng.choice([0, 1, 2, 6])
        for epoch in range(rng.randint(2, 5)):
            count = rng.choice([0, 1, 3, 12, 40]) if rng.random() < 0.5 else rng.randint(1, 40)
            count *= 4 if large else 1
            columns = []
            for each in schema:
                if each.name == "k":
                    values = (
                        rng.sample(range(60), count) if self.unique else [rng.randint(0, keys) for _ in range(count)]
                    )
                    if odds["k"] == "nulls":
                        values = [None if rng.random() < 0.05 else v for v in values]
                elif each.name == "t":
                    values = [epoch * 150 - 200 + rng.randint(-120, 200) for _ in range(count)]
                else:
                    odd = odds[each.name] if rng.random() < 0.5 else "plain"
                    values = self.column_values(_kind(each.type), count, odd)
                columns.append(pa.array(values, each.type))
            made.append(pa.table(columns, schema=schema))
        return made

    def column_oddity(self, each: pa.Field) -> str:
        kind = _KINDS.get(_kind(each.type))
        if kind == FLOAT:
            return self.pick("nan", "negative zero", "extremes", "wide", "negative zero", "nan", "one null")
        if kind == INT:
            return self.pick("extremes", "wide", "beyond", "one null", "small")
        return self.pick("nulls", "plain")

    def column_values(self, kind: str, count: int, odd: str) -> list[Any]:
        rng = self.rng
        if odd == "beyond" and kind == "int64":
            return [
                rng.choice([(1 << 53) + 1, -(1 << 53) - 1, (1 << 31), -(1 << 31) - 1, (1 << 62) + 1, 3])
                for _ in range(count)
            ]
        if odd == "one null":
            made = values_of(kind, count, "plain", rng)
            if made and rng.random() < 0.4:
                made[rng.randrange(count)] = None
            return made
        if odd == "small" and kind.startswith("int"):
            return [rng.randint(0, 2) for _ in range(count)]
        return values_of(
            kind, count, odd if odd in ("nulls", "extremes", "nan", "negative zero", "wide") else "plain", rng
        )


def _kind(type_: pa.DataType) -> str:
    return next((name for name, known in TYPES.items() if known == type_), "")

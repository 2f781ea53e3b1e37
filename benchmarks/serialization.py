"""What it costs to turn records into bytes and back: nanoseconds and bytes a record, beside bare libraries.

Each shape of record goes through Rekindle's serializer, pickle 5, msgspec's msgpack and fastavro (where the shape has a
schema), once record by record, as RocksDB and custom serializers do, and once in chunks of a thousand, as exchanges and
snapshots do. All in one process, in turn; the best of five rounds counts, and the ratios are to pickle in the same run.

    python benchmarks/serialization.py [--records N] [--shape NAME]
"""

from __future__ import annotations

import argparse
import dataclasses
import io
import pickle
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import fastavro
import msgspec

from rekindle.common import Row, Types
from rekindle.common.annotations import as_type_info
from rekindle.serialization import AvroSerializer
from rekindle.serialization.serializer_of import serializer_of
from rekindle.types.type_serializer import TypeSerializer

CHUNK = 1_000
ROUNDS = 5


@dataclass
class Reading:
    """What a sensor says."""

    sensor: str
    at: int
    value: float


@dataclass
class Order:
    """Something nested."""

    customer: str
    lines: list[Reading] = field(default_factory=list)
    tags: dict[str, int] = field(default_factory=dict)


class Event(msgspec.Struct):
    """What a sensor says, once more."""

    sensor: str
    at: int
    value: float


READING_SCHEMA = {
    "type": "record",
    "name": "Reading",
    "fields": [
        {"name": "sensor", "type": "string"},
        {"name": "at", "type": "long"},
        {"name": "value", "type": "double"},
    ],
}


@dataclass
class Shape:
    """Hold records of one shape, and the ways to turn them into bytes."""

    name: str
    make: Callable[[random.Random], Any]
    serializer: TypeSerializer[Any]
    msgpack_type: Any = None
    avro_schema: Any = None
    avro_record: Callable[[Any], Any] = lambda record: record


@dataclass
class Way:
    """Hold one way: of single records, and of chunks of them."""

    dumps: Callable[[Any], bytes]
    loads: Callable[[bytes], Any]
    dump_all: Callable[[list[Any]], bytes] | None = None
    load_all: Callable[[bytes], Any] | None = None


def shapes() -> list[Shape]:
    def reading(rng: random.Random) -> tuple[str, int, float]:
        return f"sensor-{rng.randrange(5000)}", rng.randrange(1 << 40), rng.random()

    return [
        Shape("LONG", lambda rng: rng.randrange(1 << 40), serializer_of(Types.LONG()), int, "long"),
        Shape("STRING", lambda rng: reading(rng)[0], serializer_of(Types.STRING()), str, "string"),
        Shape(
            "TUPLE(STRING, LONG, DOUBLE)",
            reading,
            serializer_of(Types.TUPLE([Types.STRING(), Types.LONG(), Types.DOUBLE()])),
            tuple[str, int, float],
        ),
        Shape(
            "ROW(STRING, LONG, DOUBLE)",
            lambda rng: Row(*reading(rng)),
            serializer_of(Types.ROW([Types.STRING(), Types.LONG(), Types.DOUBLE()])),
        ),
        Shape(
            "LIST(LONG) of 10",
            lambda rng: [rng.randrange(1000) for _ in range(10)],
            serializer_of(Types.LIST(Types.LONG())),
            list[int],
            {"type": "array", "items": "long"},
        ),
        Shape(
            "MAP(STRING, DOUBLE) of 5",
            lambda rng: {f"k{number}": rng.random() for number in range(5)},
            serializer_of(Types.MAP(Types.STRING(), Types.DOUBLE())),
            dict[str, float],
            {"type": "map", "values": "double"},
        ),
        Shape(
            "dataclass of 3",
            lambda rng: Reading(*reading(rng)),
            serializer_of(as_type_info(Reading, "benchmark")),
            Reading,
            READING_SCHEMA,
            dataclasses.asdict,
        ),
        Shape(
            "dataclass, nested",
            lambda rng: Order("ada", [Reading(*reading(rng)) for _ in range(3)], {"a": 1, "b": 2}),
            serializer_of(as_type_info(Order, "benchmark")),
            Order,
        ),
        Shape(
            "msgspec.Struct of 3",
            lambda rng: Event(*reading(rng)),
            serializer_of(as_type_info(Event, "benchmark")),
            Event,
        ),
        Shape(
            "Avro record of 3",
            lambda rng: dict(zip(("sensor", "at", "value"), reading(rng), strict=True)),
            AvroSerializer(READING_SCHEMA),
            dict[str, Any],
            READING_SCHEMA,
        ),
    ]


def ways(shape: Shape) -> dict[str, Way]:
    own = shape.serializer
    found = {
        "rekindle": Way(own.to_bytes, own.from_bytes, own.all_to_bytes, own.all_from_bytes),
        "pickle 5": Way(
            lambda record: pickle.dumps(record, 5), pickle.loads, lambda chunk: pickle.dumps(chunk, 5), pickle.loads
        ),
    }
    if shape.msgpack_type is not None:
        encode = msgspec.msgpack.Encoder().encode
        decode = msgspec.msgpack.Decoder(shape.msgpack_type).decode
        decode_all = msgspec.msgpack.Decoder(list[shape.msgpack_type]).decode  # type: ignore[name-defined]
        found["msgspec"] = Way(encode, decode, encode, decode_all)
    if shape.avro_schema is not None:
        schema = fastavro.parse_schema(shape.avro_schema)

        def write(record: Any) -> bytes:
            stream = io.BytesIO()
            fastavro.schemaless_writer(stream, schema, shape.avro_record(record))
            return stream.getvalue()

        found["fastavro"] = Way(write, lambda data: fastavro.schemaless_reader(io.BytesIO(data), schema, None))
    return found


def best(work: Callable[[], object], records: int) -> float:
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter_ns()
        work()
        times.append(time.perf_counter_ns() - begin)
    return min(times) / records


def measure(way: Way, records: list[Any]) -> tuple[float, ...]:
    """Give ns to write and read and bytes of a record, singly and in chunks."""
    dumps, loads = way.dumps, way.loads
    single = list(map(dumps, records))
    figures = [
        best(lambda: [dumps(record) for record in records], len(records)),
        best(lambda: [loads(data) for data in single], len(records)),
        sum(map(len, single)) / len(records),
    ]
    if way.dump_all is not None and way.load_all is not None:
        dump_all, load_all = way.dump_all, way.load_all
        chunks = [records[start : start + CHUNK] for start in range(0, len(records), CHUNK)]
        written = list(map(dump_all, chunks))
        figures += [
            best(lambda: [dump_all(chunk) for chunk in chunks], len(records)),
            best(lambda: [load_all(data) for data in written], len(records)),
            sum(map(len, written)) / len(records),
        ]
    return tuple(figures)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--shape", help="only shapes with this in their name")
    arguments = parser.parse_args()
    seed = 20_260
    print(f"seed {seed}; ns to write, ns to read, bytes: a record; to pickle: rekindle's by pickle's")
    print(f"{'':28}{'':10}{'one by one':>26}{'in chunks of 1,000':>32}")
    for shape in shapes():
        if arguments.shape and arguments.shape.lower() not in shape.name.lower():
            continue
        rng = random.Random(seed)
        records = [shape.make(rng) for _ in range(arguments.records)]
        results = {name: measure(way, records) for name, way in ways(shape).items()}
        for name, figures in results.items():
            single = "{:8,.0f}{:8,.0f}{:10.1f}".format(*figures[:3])
            chunked = "{:14,.0f}{:8,.0f}{:10.1f}".format(*figures[3:]) if len(figures) > 3 else ""
            print(f"{shape.name if name == 'rekindle' else '':28}{name:10}{single}{chunked}")
        own, pickled = results["rekindle"], results["pickle 5"]
        ratios = [mine / theirs for mine, theirs in zip(own, pickled, strict=True)]
        shown = "{:8.2f}{:8.2f}{:10.2f}{:14.2f}{:8.2f}{:10.2f}".format(*ratios)
        print(f"{'':28}{'to pickle':10}{shown}\n")


if __name__ == "__main__":
    main()

"""Records in and out of connectors, beside what Spark does with the same ones and no state.

===========  ==========================================================================================================
kafka        Kafka to Kafka, 100 bytes a record, four partitions
files        Parquet to Parquet: ``FileSource`` to ``FileSink``; and to ``sink_to_data_frame`` with Spark's own writer
postgres     Parquet to PostgreSQL: ``JdbcSink``, beside Spark's writer over JDBC; a tenth of the records
===========  ==========================================================================================================

Rekindle counts the records of each of 10,000 keys and writes each record with its count. Spark only copies, in a
streaming query with ``availableNow``, and as many records in a micro-batch as Rekindle has in an epoch. They take turns
in one session, and medians of three rounds are printed with their ratio. The time is from the beginning of the first
epoch or micro-batch to the end of the job: all output is visible then.

What services need is fetched as for the tests (``make services``).

    python benchmarks/connectors.py [--connector NAME ...] [--records N] [--rounds N]
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measuring import configured, run_job, write_pairs
from pyspark.sql import DataFrame, SparkSession

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from rekindle.common import SimpleStringSchema, Types, WatermarkStrategy
from rekindle.datastream import KeyedProcessFunction
from rekindle.datastream.connectors.base import DeliveryGuarantee
from rekindle.datastream.connectors.file_system import FileSink, FileSource
from rekindle.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSink
from rekindle.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from rekindle.datastream.connectors.tables import directory_writer
from rekindle.datastream.formats.parquet import parquet_writer
from rekindle.datastream.state import ValueStateDescriptor
from support.services.jars import spark_kafka_jars
from support.services.kafka import Broker
from support.services.postgres import PASSWORD, USER, running_postgres

KEYS = 10_000
PARTITIONS = 4
PER_EPOCH = 250_000
INTERVAL = 2_000  # milliseconds between checkpoints


class Count(KeyedProcessFunction):
    """Write each record with the number of its key so far."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: str, ctx: Any) -> Iterator[str]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{value},{count}"


def line(number: int) -> str:
    """Return a record of 100 bytes, which begins with its key."""
    return f"{number % KEYS:07},{number:012}," + "x" * 79


def key_of(value: str) -> str:
    """Return the key of a record."""
    return value[:7]


@dataclass(frozen=True, slots=True)
class Measured:
    """How one way of running did in all rounds.

    Attributes:
        name: What it is.
        rates: Records per second.
    """

    name: str
    rates: list[float]

    @property
    def median(self) -> float:
        """The median of all rounds."""
        return statistics.median(self.rates)


def timed_query(frame: DataFrame, write: Callable[[Any], Any], records: int, directory: str) -> float:
    """Run a query until all is copied; return records per second from the beginning of its first micro-batch."""
    writer = write(frame.writeStream).option("checkpointLocation", directory).trigger(availableNow=True)
    query = writer.start()
    query.awaitTermination()
    ended = time.time()
    progress = [each for each in query.recentProgress if each["numInputRows"]]
    assert sum(each["numInputRows"] for each in progress) == records
    first = progress[0]["timestamp"]  # such as 2026-01-01T00:00:00.000Z
    began = time.mktime(time.strptime(first[:19], "%Y-%m-%dT%H:%M:%S")) - time.timezone + float(first[19:23])
    return records / (ended - began)


def timed_job(environment: Any, records: int) -> float:
    """Run a job; return records per second from the beginning of its first epoch to its end."""
    epochs = run_job(environment)
    ended = time.perf_counter()
    finished = [(at, summary) for at, summary in epochs.finished if summary.records]
    return records / (ended - (finished[0][0] - finished[0][1].seconds))


def kafka(spark: SparkSession, records: int, rounds: int) -> list[Measured]:
    """Copy from topic to topic, and count from topic to topic."""
    guarantees = {"exactly once": DeliveryGuarantee.EXACTLY_ONCE, "at least once": DeliveryGuarantee.AT_LEAST_ONCE}
    rates: dict[str, list[float]] = {"Spark, stateless": []} | {f"Rekindle, {name}": [] for name in guarantees}
    with ExitStack() as stack:
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="rekindle-benchmark-"))
        broker = Broker(Path(scratch))
        stack.callback(broker.kill)
        broker.start()
        broker.create_topic("in", PARTITIONS)
        broker.produce("in", ((key_of(value), value) for value in map(line, range(records))))
        for number in range(rounds + 1):  # the first one lets the JVM compile its code
            topic = f"spark-{number}"
            broker.create_topic(topic, PARTITIONS)
            source = (
                spark.readStream.format("kafka")
                .option("kafka.bootstrap.servers", broker.bootstrap_servers)
                .option("subscribe", "in")
                .option("startingOffsets", "earliest")
                .option("maxOffsetsPerTrigger", PER_EPOCH)
                .load()
                .select("key", "value")
            )

            def to_kafka(writer: Any, topic: str = topic) -> Any:
                servers = writer.format("kafka").option("kafka.bootstrap.servers", broker.bootstrap_servers)
                return servers.option("topic", topic)

            rate = timed_query(source, to_kafka, records, f"{scratch}/checkpoints-{number}")
            rates["Spark, stateless"].append(rate)
            for name, guarantee in guarantees.items():
                topic = f"rekindle-{guarantee.name.lower()}-{number}"
                broker.create_topic(topic, PARTITIONS)
                environment = configured(2)
                environment.enable_checkpointing(INTERVAL)
                environment.get_checkpoint_config().set_checkpoint_storage_dir(f"file://{scratch}/rekindle")
                lines = (
                    KafkaSource.builder()
                    .set_bootstrap_servers(broker.bootstrap_servers)
                    .set_topics("in")
                    .set_starting_offsets(KafkaOffsetsInitializer.earliest())
                    .set_bounded(KafkaOffsetsInitializer.latest())
                    .set_value_only_deserializer(SimpleStringSchema())
                    .set_property("maxOffsetsPerTrigger", str(PER_EPOCH))
                    .build()
                )
                counted = (
                    environment.from_source(lines, WatermarkStrategy.no_watermarks(), "lines")
                    .key_by(key_of, Types.STRING())
                    .process(Count(), Types.STRING())
                )
                serializer = (
                    KafkaRecordSerializationSchema.builder()
                    .set_topic(topic)
                    .set_value_serialization_schema(SimpleStringSchema())
                    .build()
                )
                sink = (
                    KafkaSink.builder()
                    .set_bootstrap_servers(broker.bootstrap_servers)
                    .set_record_serializer(serializer)
                    .set_delivery_guarantee(guarantee)
                    .set_transactional_id_prefix(topic)
                    .build()
                )
                counted.sink_to(sink)
                rates[f"Rekindle, {name}"].append(timed_job(environment, records))
                found = sum(broker.end_offsets(topic).values())
                assert found >= records, f"{found:,} of {records:,} records are in {topic}"
    return [Measured(name, found[1:]) for name, found in rates.items()]


class CountRows(KeyedProcessFunction):
    """Write each pair with the number of its key so far."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[tuple[int, int, int]]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value.k, value.v, count


PAIR = "k long, v long"
COUNTED = Types.ROW_NAMED(["k", "v", "n"], [Types.LONG(), Types.LONG(), Types.LONG()])
FILES_PER_EPOCH = 4


@dataclass(frozen=True, slots=True)
class Pairs:
    """Files of pairs, for jobs and queries that differ in where they write.

    Attributes:
        spark: The session.
        scratch: A directory.
        records: How many pairs there are.
    """

    spark: SparkSession
    scratch: str
    records: int

    @property
    def path(self) -> str:
        """Where the files are."""
        return f"{self.scratch}/in"

    def write(self) -> None:
        """Write the files: as many as make epochs of PER_EPOCH records."""
        write_pairs(self.path, self.records, KEYS, max(1, self.records // PER_EPOCH) * FILES_PER_EPOCH)

    def query(self, name: str, write: Callable[[Any], Any]) -> float:
        """Let Spark copy the pairs."""
        stream = self.spark.readStream.schema(PAIR).option("maxFilesPerTrigger", FILES_PER_EPOCH).parquet(self.path)
        return timed_query(stream, write, self.records, f"{self.scratch}/checkpoints-{name}")

    def job(self, sink: Callable[[Any], Any]) -> float:
        """Count the pairs, and write them with their counts."""
        environment = configured(2)
        environment.enable_checkpointing(INTERVAL)
        environment.get_checkpoint_config().set_checkpoint_storage_dir(f"file://{self.scratch}/rekindle")
        source = FileSource.for_format("parquet", self.path, schema=PAIR, maxFilesPerTrigger=FILES_PER_EPOCH).build()
        pairs = environment.from_source(source, WatermarkStrategy.no_watermarks(), "pairs")
        sink(pairs.key_by(lambda pair: pair.k).process(CountRows(), COUNTED))
        return timed_job(environment, self.records)


def files(spark: SparkSession, records: int, rounds: int) -> list[Measured]:
    """Copy Parquet files, and count what is in them."""
    rates: dict[str, list[float]] = {"Spark, stateless": [], "Rekindle, FileSink": [], "Rekindle, Spark table": []}
    with tempfile.TemporaryDirectory(prefix="rekindle-benchmark-") as scratch:
        pairs = Pairs(spark, scratch, records)
        pairs.write()
        for number in range(rounds + 1):
            written = [f"{scratch}/{name}-{number}" for name in ("spark", "files", "table")]
            copied = pairs.query(f"{number}", lambda w, to=written[0]: w.format("parquet").option("path", to))
            rates["Spark, stateless"].append(copied)
            sink = FileSink.for_bulk_format(written[1], parquet_writer("k long, v long, n long")).build()
            rates["Rekindle, FileSink"].append(pairs.job(lambda stream, sink=sink: stream.sink_to(sink)))
            write = directory_writer(written[2])
            table = pairs.job(lambda stream, write=write: stream.sink_to_data_frame(write))
            rates["Rekindle, Spark table"].append(table)
            for path in written:
                assert spark.read.parquet(path).count() == records, path
    return [Measured(name, found[1:]) for name, found in rates.items()]


def postgres(spark: SparkSession, records: int, rounds: int) -> list[Measured]:
    """Copy Parquet files to a table, and count what is in them."""
    insert = "INSERT INTO {} (k, v, n) VALUES (?, ?, ?)"
    rates: dict[str, list[float]] = {
        "Spark, stateless": [],
        "Rekindle, exactly once": [],
        "Rekindle, at least once": [],
    }
    with tempfile.TemporaryDirectory(prefix="rekindle-benchmark-") as scratch, running_postgres() as server:
        pairs = Pairs(spark, scratch, records // 10)
        pairs.write()
        login = {"user": USER, "password": PASSWORD, "driver": "org.postgresql.Driver"}
        options = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(server.url("postgres"))
        connection = options.with_user_name(USER).with_password(PASSWORD).build()
        for number in range(rounds + 1):
            tables = [f"{name}_{number}" for name in ("spark", "once", "again")]
            for table in tables:
                server.query("postgres", f"CREATE TABLE {table} (k bigint, v bigint, n bigint)")

            def over_jdbc(frame: DataFrame, batch: int, table: str = tables[0]) -> None:
                frame.write.mode("append").jdbc(server.url("postgres"), table, properties=login)

            copied = pairs.query(f"{number}", lambda writer, write=over_jdbc: writer.foreachBatch(write))
            rates["Spark, stateless"].append(copied)
            once = JdbcSink.exactly_once_sink(insert.format(tables[1]), COUNTED, connection)
            rates["Rekindle, exactly once"].append(pairs.job(lambda stream, sink=once: stream.sink_to(sink)))
            again = JdbcSink.sink(insert.format(tables[2]), COUNTED, connection)
            rates["Rekindle, at least once"].append(pairs.job(lambda stream, sink=again: stream.sink_to(sink)))
            for table in tables:
                (found,) = server.query("postgres", f"SELECT count(*) FROM {table}")
                assert found == (pairs.records,), table
    return [Measured(name, found[1:]) for name, found in rates.items()]


CONNECTORS = {"kafka": kafka, "files": files, "postgres": postgres}
DRIVER = "org.postgresql:postgresql:42.7.4"  # for Spark's writer


def table(name: str, measured: list[Measured]) -> str:
    """Return the throughput of each way, and its ratio to Spark's."""
    lines = [f"\n{name}"]
    for each in measured:
        lines.append(f"{each.name:<32}{each.median:12,.0f} records/s{each.median / measured[0].median:7.2f}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--connector", nargs="+", choices=list(CONNECTORS), default=list(CONNECTORS))
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    jars = ",".join(str(jar) for jar in sorted(spark_kafka_jars().glob("*.jar")))
    driver = {"spark.jars.packages": DRIVER} if "postgres" in args.connector else {}
    environment = configured(2, {"spark.jars": jars} | driver)
    spark = environment._spark_session(2)
    print(
        f"{os.cpu_count()} cores; {args.records:,} records, {KEYS:,} keys; medians of {args.rounds}, ratio to Spark's"
    )
    try:
        for name in args.connector:
            print(table(name, CONNECTORS[name](spark, args.records, args.rounds)), flush=True)
    finally:
        environment.close()


if __name__ == "__main__":
    main()

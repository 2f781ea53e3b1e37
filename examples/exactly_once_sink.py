"""A sink of one's own, exactly once: rows of a database, written through a failure in the middle.

What a writer has got since the last barrier travels in the checkpoint as a *committable*. When the checkpoint is
complete, the committable is written in one transaction, under a name: after a failure it may be committed again, and
then it is there already. PyFlink has only sinks that are written in Java.
"""

import json
import sqlite3
import tempfile
import uuid
from pathlib import Path

from rekindle.common import Configuration, RestartStrategies, WatermarkStrategy
from rekindle.datastream import MapFunction, StreamExecutionEnvironment
from rekindle.datastream.connectors import Sink, SinkWriter
from rekindle.datastream.connectors.number_seq import NumberSequenceSource

LAST, FAILS_AT = 600, 500


class DatabaseSink(Sink):
    def __init__(self, path):
        self.path = path

    def create_writer(self, context):  # in its slot, one for each subtask
        return DatabaseWriter(self.path)


class DatabaseWriter(SinkWriter):
    def __init__(self, path):
        self.database = sqlite3.connect(path, timeout=60, check_same_thread=False)
        self.rows = []

    def write(self, values, timestamps):  # nobody may see them yet
        self.rows += values

    def prepare_commit(self, checkpoint_id):  # at the barrier
        rows, self.rows = self.rows, []
        return [json.dumps([uuid.uuid4().hex, rows]).encode()] if rows else []

    def commit(self, committables):  # when the checkpoint is complete; perhaps not for the first time
        for name, rows in map(json.loads, committables):
            with self.database:  # one transaction: all of it, or nothing
                new = self.database.execute("INSERT OR IGNORE INTO commits VALUES (?)", [name])
                if new.rowcount:
                    self.database.executemany("INSERT INTO squares VALUES (?, ?)", rows)

    def abort_leftovers(self):
        """Remove what an earlier attempt left behind: nothing, as all of it was in memory."""

    def close(self):
        self.database.close()


class Square(MapFunction):
    def open(self, runtime_context):
        self.first_attempt = runtime_context.get_attempt_number() == 0

    def map(self, number):
        if self.first_attempt and number == FAILS_AT:
            raise RuntimeError("a failure, to see what comes of it")
        return number, number * number


directory = tempfile.TemporaryDirectory()
path = str(Path(directory.name) / "squares.db")
database = sqlite3.connect(path)
database.execute("CREATE TABLE squares (number INTEGER, square INTEGER)")
database.execute("CREATE TABLE commits (name TEXT PRIMARY KEY)")

settings = Configuration.from_dict({"rekindle.epoch.max-records": "100"})  # so that there are some checkpoints
env = StreamExecutionEnvironment.get_execution_environment(settings)
env.set_parallelism(1)
env.enable_checkpointing(100)
env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 100))
numbers = env.from_source(NumberSequenceSource(1, LAST), WatermarkStrategy.no_watermarks(), "numbers")
numbers.map(Square()).sink_to(DatabaseSink(path)).uid("database")
env.execute("squares")

count, distinct, largest = "COUNT(*)", "COUNT(DISTINCT number)", "MAX(square)"
found = database.execute(f"SELECT {count}, {distinct}, {largest} FROM squares").fetchone()
print("{} rows of {} numbers; the largest square is {}".format(*found))
database.close()
directory.cleanup()

"""Spark SQL before, state in between, Spark SQL after: sessions of users, through a failure in the middle.

Spark SQL cleans the clicks. A function with state cuts them into sessions: a pause of more than two minutes ends one.
The sessions go to a table with each checkpoint, once, and Spark SQL counts what is in it. PyFlink has no such sink.
"""

import tempfile
from dataclasses import dataclass

from rekindle.common import Configuration, RestartStrategies, Types
from rekindle.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from rekindle.datastream.state import ValueStateDescriptor

PAUSE = 120
clicks = [
    (second, f"user-{second * 7 % 5}", "/health" if second % 4 == 0 else "/shop") for second in range(0, 3000, 13)
]
countries = [("user-0", "NO"), ("user-1", "NO"), ("user-2", "FR"), ("user-3", "FR"), ("user-4", "FR")]


@dataclass
class Session:
    user: str
    country: str
    start: int
    clicks: int


class Sessions(KeyedProcessFunction):
    def open(self, runtime_context):
        self.first_attempt = runtime_context.get_attempt_number() == 0
        self.session = runtime_context.get_state(ValueStateDescriptor("session", Types.TUPLE([Types.LONG()] * 3)))

    def process_element(self, click, ctx):
        if self.first_attempt and click.second > 2000:
            raise RuntimeError("a failure, to see what comes of it")
        start, last, count = self.session.value() or (click.second, click.second, 0)
        if click.second - last > PAUSE:
            yield Session(click.user, click.country, start, count)
            start, count = click.second, 0
        self.session.update((start, click.second, count + 1))


settings = Configuration()
directory = tempfile.TemporaryDirectory()  # a real job has one that all machines can reach
settings.set_string("execution.checkpointing.dir", f"file://{directory.name}/checkpoints")
env = StreamExecutionEnvironment.get_execution_environment(settings)
env.enable_checkpointing(100)
env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 0))
spark = env.spark_session

# Spark SQL before.
spark.createDataFrame(clicks, "second bigint, user string, page string").createOrReplaceTempView("clicks")
spark.createDataFrame(countries, "user string, country string").createOrReplaceTempView("countries")
shopping = spark.sql("""
    SELECT user, country, second FROM clicks JOIN countries USING (user) WHERE page <> '/health'
""")

# State in between.
table = f"{directory.name}/sessions"


def write(frame, commit):  # on the driver, for each checkpoint; again, if the job fails before it is noted
    frame.write.mode("overwrite").parquet(f"{table}/commit={commit.name}")


in_order = shopping.coalesce(1).sortWithinPartitions("second")
sessions = env.from_data_frame(in_order, uid="clicks").key_by(lambda click: click.user).process(Sessions(), Session)
sessions.sink_to_data_frame(write).uid("sessions")
env.execute("sessions")

# Spark SQL after.
spark.read.parquet(table).createOrReplaceTempView("sessions")
for row in spark.sql("""
    SELECT country, count(*) AS sessions, sum(clicks) AS clicks FROM sessions GROUP BY country ORDER BY country
""").collect():
    print(f"{row.country}: {row.sessions} sessions, {row.clicks} clicks")
directory.cleanup()

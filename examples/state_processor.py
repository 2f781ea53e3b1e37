"""Make the state of a job out of a DataFrame, look at it with Spark, repair it, and start the job from it.

PyFlink has nothing like it; Flink has, for Java, as the State Processor API.
"""

import tempfile

from pyspark.sql.functions import greatest, lit

from rekindle.common import Configuration, Types
from rekindle.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.state_processor import SavepointReader, SavepointWriter, keyed_state

balances = [("ada", 120), ("bob", -40), ("cleo", 75)]
payments = [("ada", 30), ("bob", 10), ("dan", 5)]

BALANCE = ValueStateDescriptor("balance", Types.LONG())


class Account(KeyedProcessFunction):
    def open(self, runtime_context):
        self.balance = runtime_context.get_state(BALANCE)

    def process_element(self, payment, ctx):
        user, amount = payment
        balance = (self.balance.value() or 0) + amount
        self.balance.update(balance)
        yield f"{user} has {balance}"


spark = StreamExecutionEnvironment.get_execution_environment().spark_session
directory = tempfile.TemporaryDirectory()

# What the job is to begin with, as if it had run for years.
known = spark.createDataFrame(balances, "user string, balance long")
state = keyed_state(known, BALANCE, key_columns="user", value_columns="balance", key_type=Types.STRING())
first = SavepointWriter.new_savepoint(spark).with_operator("accounts", state).write(f"{directory.name}/first")

# State is a DataFrame.
accounts = SavepointReader.read(spark, first).keyed_state("accounts", "balance")
for row in accounts.orderBy("key").collect():
    print(f"{row.key}: {row.value}")

# Nobody can owe anything here: that was a mistake, and it is repaired. All else is taken over as it is.
repaired = accounts.withColumn("value", greatest("value", lit(0)))
writer = SavepointWriter.from_existing_savepoint(spark, first)
second = writer.with_state("accounts", keyed_state(repaired, BALANCE)).write(f"{directory.name}/second")

# A normal savepoint: the job goes on from it.
settings = Configuration.from_dict({"execution.state-recovery.path": second})
env = StreamExecutionEnvironment.get_execution_environment(settings)
env.set_parallelism(2)
stream = env.from_collection(payments).uid("payments").key_by(lambda payment: payment[0], Types.STRING())
stream.process(Account()).uid("accounts").print()
env.execute("accounts")
directory.cleanup()

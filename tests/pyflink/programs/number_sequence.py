"""Read a sequence of numbers."""

from rekindle.common import Types, WatermarkStrategy
from rekindle.datastream.connectors.number_seq import NumberSequenceSource


def main(env):
    ds = env.from_source(NumberSequenceSource(1, 10), WatermarkStrategy.no_watermarks(), "seq", Types.LONG())
    ds.map(lambda x: x * x, Types.LONG()).print("sq")
    ds.key_by(lambda x: x % 3).reduce(lambda a, b: a + b).print("sum")
    print(ds.get_type(), ds.get_name())
    env.execute()
    env.from_source(NumberSequenceSource(1, 4), WatermarkStrategy.for_monotonous_timestamps(), "seq").print("untyped")
    env.execute()

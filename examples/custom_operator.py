import hashlib

from rekindle.common import Types
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.datastream.operators import (
    AbstractStreamOperator,
    KeyGroupRangeAssignment,
    OneInputStreamOperator,
    StreamRecord,
)

BITS = 1 << 12


class BloomFilter:
    """Remember very many values in few bytes; now and then it takes a new value for a known one."""

    def __init__(self, content=bytes(BITS // 8)):
        self.bits = bytearray(content)

    def add(self, value):
        """Remember a value; tell whether it is new."""
        digest = hashlib.blake2b(repr(value).encode(), digest_size=6).digest()
        new = False
        for part in (digest[:2], digest[2:4], digest[4:]):
            byte, bit = divmod(int.from_bytes(part, "big") % BITS, 8)
            new |= not self.bits[byte] & 1 << bit
            self.bits[byte] |= 1 << bit
        return new


class Deduplicate(AbstractStreamOperator, OneInputStreamOperator):
    """Let each value pass once, with one Bloom filter per key group.

    The filters are raw keyed state: their bytes move with their key groups when the parallelism changes.
    """

    def initialize_state(self, context):
        self.filters = {}
        for key_group, stream in context.get_raw_keyed_state_inputs():
            self.filters[key_group] = BloomFilter(stream.read())

    def open(self):
        self.key_groups = self.get_runtime_context().get_max_number_of_parallel_subtasks()

    def process_element(self, record):
        key_group = KeyGroupRangeAssignment.assign_to_key_group(self.get_current_key(), self.key_groups)
        if self.filters.setdefault(key_group, BloomFilter()).add(record.value):
            self.output.collect(StreamRecord(f"new: {record.value}", record.timestamp))

    def snapshot_state(self, context):
        output = context.get_raw_keyed_operator_state_output()
        for key_group, bloom_filter in self.filters.items():
            output.start_new_key_group(key_group)
            output.write(bytes(bloom_filter.bits))


if __name__ == "__main__":
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    visits = env.from_collection(["ada", "bob", "ada", "cyd", "bob", "ada", "dan", "cyd"])
    visits.key_by(lambda name: name).transform("Deduplicate", Types.STRING(), Deduplicate()).print()
    env.execute("first visits")

"""Choose where state lives: in memory, or in RocksDB on local disk when it is larger than memory.

What a program computes does not depend on it.
"""

import tempfile

from rekindle.common import Configuration, Types
from rekindle.datastream import (
    EmbeddedRocksDBStateBackend,
    FsStateBackend,
    KeyedProcessFunction,
    MemoryStateBackend,
    PredefinedOptions,
    RocksDBStateBackend,
    StreamExecutionEnvironment,
)
from rekindle.datastream.state import ValueStateDescriptor

words = ["to", "be", "or", "not", "to", "be"]


class CountWords(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, word, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield word, count


def run(env, name):
    env.set_parallelism(1)
    env.from_collection(words).key_by(lambda word: word, Types.STRING()).process(CountWords()).print(name)
    env.execute(name)


# State in RocksDB: as large as the disks. A checkpoint stores only what has changed since the last one.
rocksdb = EmbeddedRocksDBStateBackend(enable_incremental_checkpointing=True)
rocksdb.set_predefined_options(PredefinedOptions.FLASH_SSD_OPTIMIZED)

# The backends of Flink 1.x say where checkpoints go, too: to the driver's memory, or to a directory.
directory = tempfile.TemporaryDirectory()
backends = {
    "rocksdb": rocksdb,  # or HashMapStateBackend()
    "MemoryStateBackend": MemoryStateBackend(max_state_size=1024 * 1024),  # state and checkpoints in memory
    "FsStateBackend": FsStateBackend(f"file://{directory.name}/heap"),  # state in memory
    "RocksDBStateBackend": RocksDBStateBackend(f"file://{directory.name}/rocksdb", True),  # state in RocksDB
}
for name, backend in backends.items():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.enable_checkpointing(1000)
    env.set_state_backend(backend)
    run(env, name)
directory.cleanup()

# By configuration, so that the program need not change; what the program sets wins. State in memory is the default, and
# fast. For RocksDB as above: "rocksdb", and "state.backend.rocksdb.predefined-options": "FLASH_SSD_OPTIMIZED".
settings = Configuration.from_dict({"state.backend.type": "hashmap", "execution.checkpointing.incremental": "true"})
run(StreamExecutionEnvironment.get_execution_environment(settings), "hashmap")

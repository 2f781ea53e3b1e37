"""Let one stream control another: words pass unless the control stream has blocked them.

Both streams are keyed by the word, so a word meets the state that the control stream left for it. Nothing is promised
about which stream comes first: a word that comes before it is blocked, passes. See rides_and_fares.py for a function
that does not care about the order, and broadcast_rules.py for control of all keys at once.
"""

from rekindle.common import Types
from rekindle.datastream import CoFlatMapFunction, CoMapFunction, StreamExecutionEnvironment
from rekindle.datastream.state import ValueStateDescriptor

control = ["drop", "ignore"]
words = ["apache", "drop", "flink", "ignore", "spark", "drop"]


class Block(CoFlatMapFunction):
    def open(self, runtime_context):
        self.blocked = runtime_context.get_state(ValueStateDescriptor("blocked", Types.BOOLEAN()))

    def flat_map1(self, control_word):
        self.blocked.update(True)
        return []

    def flat_map2(self, word):
        if not self.blocked.value():
            yield word


class SayWhatItIs(CoMapFunction):
    """Two streams of different types, without keys; the results are one stream."""

    def map1(self, word):
        return f"word {word}"

    def map2(self, number):
        return f"number {number}"


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
control_stream, word_stream = env.from_collection(control), env.from_collection(words)
allowed = control_stream.connect(word_stream).key_by(lambda word: word, lambda word: word).flat_map(Block())
allowed.connect(env.from_collection([1, 2])).map(SayWhatItIs()).print()
env.execute("control stream")

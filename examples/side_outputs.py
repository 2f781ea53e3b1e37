"""Split a stream: what does not belong to the main output goes to side outputs, which may have other types."""

from rekindle.common import Types
from rekindle.datastream import OutputTag, ProcessFunction, StreamExecutionEnvironment

TOO_LONG = OutputTag("too long", Types.STRING())
REJECTED = OutputTag("rejected", Types.TUPLE([Types.STRING(), Types.STRING()]))  # text, reason

texts = ["7", "12", "a dozen", "40000000000", "", "-3"]


class ParseInts(ProcessFunction):
    def process_element(self, text, ctx):
        if not text:
            yield REJECTED, (text, "empty")
        elif len(text) > 9:
            yield TOO_LONG, text
        else:
            try:
                yield int(text)  # without a tag: to the main output
            except ValueError:
                yield REJECTED, (text, "not a number")


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
numbers = env.from_collection(texts).process(ParseInts(), Types.INT())
numbers.print("number")
numbers.get_side_output(TOO_LONG).print("too long")
numbers.get_side_output(REJECTED).map(lambda pair: f"{pair[0]!r}: {pair[1]}").print("rejected")
env.execute("side outputs")

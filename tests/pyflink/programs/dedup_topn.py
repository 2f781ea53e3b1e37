"""Drop what came before, then keep the best of each user."""

from rekindle.common import Row, Types
from rekindle.datastream import KeyedProcessFunction
from rekindle.datastream.state import ListStateDescriptor, ValueStateDescriptor


class Dedup(KeyedProcessFunction):
    def open(self, ctx):
        self.seen = ctx.get_state(ValueStateDescriptor("seen", Types.BOOLEAN()))

    def process_element(self, v, ctx):
        if not self.seen.value():
            self.seen.update(True)
            yield v


class TopN(KeyedProcessFunction):
    def __init__(self, n):
        self.n = n

    def open(self, ctx):
        self.top = ctx.get_list_state(ListStateDescriptor("top", Types.TUPLE([Types.STRING(), Types.INT()])))

    def process_element(self, v, ctx):
        self.top.add((v[1], v[2]))
        best = sorted(self.top.get(), key=lambda t: (-t[1], t[0]))[: self.n]
        self.top.update(best)
        yield Row(user=ctx.get_current_key(), best=str(best))


def main(env):
    t = Types.TUPLE([Types.STRING(), Types.STRING(), Types.INT()])
    ds = env.from_collection(
        [("u1", "x", 3), ("u1", "y", 5), ("u2", "x", 1), ("u1", "x", 3), ("u1", "z", 4), ("u2", "q", 9)], t
    )
    ds.key_by(lambda v: v, key_type=t).process(Dedup(), t).key_by(lambda v: v[0]).process(
        TopN(2), Types.ROW_NAMED(["user", "best"], [Types.STRING(), Types.STRING()])
    ).print()
    env.execute()

"""Find items of one colour that follow each other as some rule says: the example of Flink's documentation.

The rules are broadcast, so that every subtask has them all. Items of the shape that a rule wants first wait in state of
their colour, for each rule apart, until the shape comes that it wants second. A rule does not see the items that came
before it.
"""

from rekindle.common import Types
from rekindle.datastream import KeyedBroadcastProcessFunction, StreamExecutionEnvironment
from rekindle.datastream.state import MapStateDescriptor

ITEMS = [  # number, colour, shape
    (1, "blue", "rectangle"),
    (2, "red", "triangle"),
    (3, "blue", "rectangle"),
    (4, "green", "rectangle"),
    (5, "blue", "triangle"),  # after 1 and 3
    (6, "red", "rectangle"),
    (7, "green", "circle"),  # after 4
    (8, "red", "triangle"),  # after 6
    (9, "blue", "triangle"),  # after nothing: 1 and 3 have found their triangle
    (10, "green", "circle"),  # after 7
]
RULES_GIVEN = [
    ("roof", "rectangle", "triangle"),
    ("wheel", "rectangle", "circle"),
    ("pair", "circle", "circle"),
]

RULES = MapStateDescriptor("rules", Types.STRING(), Types.TUPLE([Types.STRING(), Types.STRING()]))
PENDING = MapStateDescriptor("pending items", Types.STRING(), Types.LIST(Types.LONG()))  # by the name of the rule


class MatchRules(KeyedBroadcastProcessFunction):
    def open(self, runtime_context):
        self.pending = runtime_context.get_map_state(PENDING)

    def process_element(self, item, ctx):
        number, colour, shape = item
        for name, (first, second) in ctx.get_broadcast_state(RULES).items():  # here it can only be read
            pending = self.pending.get(name) or []
            if shape == second:
                for waiting in pending:
                    yield f"{name}: {colour} {first} {waiting}, then {colour} {second} {number}"
                pending = []
            if shape == first:  # and not else: a rule may want the same shape twice
                pending = [*pending, number]
            if pending:
                self.pending.put(name, pending)
            else:
                self.pending.remove(name)

    def process_broadcast_element(self, named_rule, ctx):
        name, *rule = named_rule
        ctx.get_broadcast_state(RULES).put(name, tuple(rule))  # the same in every subtask
        # What waits for another rule of that name waits in vain. Visit all colours of this subtask (not in PyFlink):
        ctx.apply_to_keyed_state(PENDING, lambda colour, pending: pending.remove(name))


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
items = env.from_collection(ITEMS)
rules = env.from_collection(RULES_GIVEN)
items.key_by(lambda item: item[1]).connect(rules.broadcast(RULES)).process(MatchRules()).print()
env.execute("shapes and colours")

from rekindle.common import Types
from rekindle.datastream import KeyedBroadcastProcessFunction, StreamExecutionEnvironment
from rekindle.datastream.state import ListStateDescriptor, MapStateDescriptor

ITEMS = [
    ("blue", "rectangle"),
    ("red", "triangle"),
    ("blue", "triangle"),
    ("green", "rectangle"),
    ("red", "rectangle"),
    ("green", "circle"),
    ("red", "triangle"),
    ("blue", "triangle"),
]
RULES_GIVEN = [("roof", "rectangle", "triangle"), ("wheel", "rectangle", "circle")]

RULES = MapStateDescriptor("rules", Types.STRING(), Types.TUPLE([Types.STRING(), Types.STRING()]))
SHAPES = ListStateDescriptor("shapes", Types.STRING())


def matches(name, rule, colour, shapes, last):
    """Tell of each shape that the rule wants first and that came before ``last``, if that is what it wants next."""
    first, then = rule
    if shapes[last] == then:
        for shape in shapes[:last]:
            if shape == first:
                yield f"{name}: a {colour} {first}, then a {colour} {then}"


class MatchRules(KeyedBroadcastProcessFunction):
    """Find shapes of one colour that follow each other as some rule says.

    All shapes of a colour are kept, so that a rule finds those that came before it, too.
    """

    def open(self, runtime_context):
        self.shapes = runtime_context.get_list_state(SHAPES)

    def process_element(self, item, ctx):
        colour, shape = item
        self.shapes.add(shape)
        shapes = list(self.shapes)
        for name, rule in ctx.get_broadcast_state(RULES).items():  # here it can only be read
            yield from matches(name, rule, colour, shapes, len(shapes) - 1)

    def process_broadcast_element(self, named_rule, ctx):
        name, *rule = named_rule
        ctx.get_broadcast_state(RULES).put(name, tuple(rule))  # the same in every subtask
        found = []

        def look_back(colour, state):
            shapes = list(state)
            for last in range(len(shapes)):
                found.extend(matches(name, rule, colour, shapes, last))

        ctx.apply_to_keyed_state(SHAPES, look_back)  # of all colours of this subtask
        yield from found


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
items = env.from_collection(ITEMS)
rules = env.from_collection(RULES_GIVEN)
items.key_by(lambda item: item[0]).connect(rules.broadcast(RULES)).process(MatchRules()).print()
env.execute("shapes and colours")

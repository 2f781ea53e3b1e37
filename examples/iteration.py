from rekindle.common import Time, Types
from rekindle.datastream import KeyedCoProcessFunction, KeyedProcessFunction, StreamExecutionEnvironment
from rekindle.datastream.state import ListStateDescriptor, ValueStateDescriptor
from rekindle.datastream.window import TumblingEventTimeWindows

ONE_ROUND = TumblingEventTimeWindows.of(Time.milliseconds(1))  # in rounds, time is the number of the round


def step(item):
    """Take a number one step further: halve it, or treble it and add one."""
    start, number, steps = item
    return start, number // 2 if number % 2 == 0 else 3 * number + 1, steps + 1


class Spread(KeyedCoProcessFunction):
    """Keep the neighbours of a town; tell its label to itself and to them."""

    def open(self, runtime_context):
        self.neighbours = runtime_context.get_list_state(ListStateDescriptor("neighbours", Types.STRING()))

    def process_element1(self, label, ctx):
        town, island = label
        yield town, island
        for neighbour in self.neighbours:
            yield neighbour, island

    def process_element2(self, road, ctx):
        self.neighbours.add(road[1])


class Changed(KeyedProcessFunction):
    """Pass on the labels that are not what they were."""

    def open(self, runtime_context):
        self.label = runtime_context.get_state(ValueStateDescriptor("label", Types.STRING()))

    def process_element(self, label, ctx):
        if self.label.value() != label[1]:
            self.label.update(label[1])
            yield label


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)

# A loop: each number goes round on its own until it has come to 1.
loop = env.from_collection([(n, n, 0) for n in (6, 7, 27)]).iterate()
stepped = loop.map(step)
loop.close_with(stepped.filter(lambda item: item[1] != 1))
stepped.filter(lambda item: item[1] == 1).map(lambda item: f"{item[0]} takes {item[2]} steps").print()

# Rounds: in each, every town takes the lowest label around it. No other round follows one that changes nothing.
roads = env.from_collection([("Aa", "Bo"), ("Cy", "Bo"), ("Du", "Ek"), ("Cy", "Fa")])
both_ways = roads.flat_map(lambda road: [road, (road[1], road[0])])
labels = env.from_collection([(town, town) for town in ("Aa", "Bo", "Cy", "Du", "Ek", "Fa")]).iterate()
spread = labels.connect(both_ways).key_by(lambda label: label[0], lambda road: road[0]).process(Spread())
lowest = spread.key_by(lambda label: label[0]).window(ONE_ROUND).reduce(min)
changed = lowest.key_by(lambda label: label[0]).process(Changed())
islands = labels.close_with(lowest, changed)
islands.map(lambda label: f"{label[0]} is on the island of {label[1]}").print()

env.execute("loops and rounds")

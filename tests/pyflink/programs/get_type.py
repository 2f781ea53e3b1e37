"""Types and names of streams."""

from rekindle.common import Types


def main(env):
    ds = env.from_collection([(1, "a")], Types.TUPLE([Types.INT(), Types.STRING()]))
    u = env.from_collection([(1, "a")])
    for n, d in (
        ("src", ds),
        ("usrc", u),
        ("map", ds.map(lambda x: x)),
        ("mapt", ds.map(lambda x: x[0], Types.INT())),
        ("filter", ds.filter(lambda x: True)),
        ("flat", ds.flat_map(lambda x: [x])),
        ("union", ds.union(ds)),
        ("reduce", ds.key_by(lambda x: x[0]).reduce(lambda a, b: a)),
        ("sum", ds.key_by(lambda x: x[0]).sum(0)),
        ("rebalance", ds.rebalance()),
        ("kf", ds.key_by(lambda x: x[0]).filter(lambda x: True)),
        ("win", ds.key_by(lambda x: x[0]).count_window(2).reduce(lambda a, b: a)),
    ):
        print(n, d.get_type(), type(d).__name__)
    print(
        ds.get_name(),
        ds.map(lambda x: x).get_name(),
        ds.map(lambda x: x).name("hey").get_name(),
        ds.filter(lambda x: 1).get_name(),
        ds.flat_map(lambda x: [x]).get_name(),
        ds.key_by(lambda x: x).reduce(lambda a, b: a).get_name(),
        ds.key_by(lambda x: x).map(lambda x: x).get_name(),
    )

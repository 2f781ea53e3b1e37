"""Rows of rows, lists, maps and tuples."""

from rekindle.common import Row, Types


def main(env):
    inner = Types.ROW_NAMED(["x", "y"], [Types.INT(), Types.STRING()])
    rt = Types.ROW_NAMED(
        ["id", "in", "l", "m", "t"],
        [
            Types.INT(),
            inner,
            Types.LIST(Types.STRING()),
            Types.MAP(Types.STRING(), Types.INT()),
            Types.TUPLE([Types.INT(), Types.INT()]),
        ],
    )
    ds = env.from_collection([1, 2], Types.INT()).map(
        lambda i: Row(i, Row(x=i, y="q"), ["a", "b"], {"k": i}, (i, i)), rt
    )
    ds.print("row")
    ds.key_by(lambda r: r.id).map(lambda r: str(r.as_dict(True))).print("dict")
    ds.map(lambda r: str(r)).print("chained")
    ds.key_by(lambda r: r[0]).map(lambda r: r["in"].y + str(r.l) + str(r.m["k"]) + str(r.t), Types.STRING()).print(
        "fields"
    )
    print(ds.get_type())
    env.execute()

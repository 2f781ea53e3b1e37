"""Collect records of many types."""

import datetime
import decimal

from rekindle.common import Row, Types


def main(env):
    def show(ds):
        print([(type(v).__name__, v) for v in ds.execute_and_collect()])

    rt = Types.ROW_NAMED(["a", "b", "c"], [Types.INT(), Types.LIST(Types.STRING()), Types.ROW([Types.DOUBLE()])])
    show(env.from_collection([1, 2]).map(lambda i: Row(a=i, b=["x"], c=Row(0.5)), rt))
    show(env.from_collection([1]).map(lambda i: (i, "s", 2.5, True, None)))
    show(
        env.from_collection([1]).map(
            lambda i: (i, {"k": [1]}, datetime.date(2020, 1, 1)),
            Types.TUPLE([Types.LONG(), Types.MAP(Types.STRING(), Types.LIST(Types.INT())), Types.SQL_DATE()]),
        )
    )
    show(env.from_collection([1]).map(lambda i: decimal.Decimal("1.25"), Types.BIG_DEC()))
    show(env.from_collection(["a", "b"]).key_by(lambda x: x).reduce(lambda a, b: a + b))
    show(env.from_collection([(1, 2)], Types.TUPLE([Types.INT(), Types.INT()])).filter(lambda t: t[0] > 5))

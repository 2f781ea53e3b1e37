"""What output types make of records."""

import datetime

from rekindle.common import Row, Types


def main(env):
    ds = env.from_collection([1, 2], Types.INT())
    ds.map(lambda x: x / 2, Types.FLOAT()).map(lambda x: (type(x).__name__, x)).print("float")
    ds.map(lambda x: x * 1.5, Types.DOUBLE()).print("double")
    ds.map(lambda x: (x, str(x)), Types.TUPLE([Types.LONG(), Types.STRING()])).key_by(lambda x: x[0]).map(
        lambda x: repr(x)
    ).print("tuple")
    ds.map(lambda x: Row(x, str(x)), Types.ROW([Types.INT(), Types.STRING()])).key_by(lambda x: x[0]).map(
        lambda x: repr(x)
    ).print("row")
    ds.map(lambda x: Row(a=x, b=str(x)), Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])).key_by(
        lambda x: x.a
    ).map(lambda x: repr(x)).print("nrow")
    ds.map(lambda x: Row(x, str(x)), Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])).map(
        lambda r: r.b if hasattr(r, "b") else "nob"
    ).print("chain")
    ds.map(lambda x: [x, x], Types.LIST(Types.INT())).key_by(lambda x: x[0]).map(lambda x: repr(x)).print("list")
    ds.map(lambda x: {"a": x}, Types.MAP(Types.STRING(), Types.INT())).print("map")
    ds.map(lambda x: datetime.date(2020, 1, x), Types.SQL_DATE()).print("date")
    ds.map(lambda x: [x, x], Types.PRIMITIVE_ARRAY(Types.INT())).key_by(lambda x: 1).map(lambda x: repr(list(x))).print(
        "parr"
    )
    ds.map(lambda x: bytes([x + 64]), Types.PRIMITIVE_ARRAY(Types.BYTE())).key_by(lambda x: 1).map(
        lambda x: repr(x)
    ).print("barr")
    ds.map(lambda x: ["s", None], Types.BASIC_ARRAY(Types.STRING())).key_by(lambda x: 1).map(lambda x: repr(x)).print(
        "strarr"
    )
    env.execute()

"""Kinds of rows on their way."""

from rekindle.common import Row, RowKind, Types


def main(env):
    rt = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])

    def kind(r):
        r.set_row_kind(RowKind.DELETE if r.a == 1 else RowKind.UPDATE_BEFORE)
        return r

    ds = env.from_collection([Row(1, "x"), Row(2, "y")], rt).map(kind, rt)
    ds.print("rt")
    ds.key_by(lambda r: r.a).map(lambda r: (str(r.get_row_kind()), repr(r))).print("k")
    ds.map(lambda r: r).print("untyped")
    env.execute()

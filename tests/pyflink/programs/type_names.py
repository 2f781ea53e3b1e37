"""Names of types, and which are equal."""

from rekindle.common import Types


def main(env):
    ts = [
        Types.STRING(),
        Types.BYTE(),
        Types.BOOLEAN(),
        Types.SHORT(),
        Types.INT(),
        Types.LONG(),
        Types.FLOAT(),
        Types.DOUBLE(),
        Types.CHAR(),
        Types.BIG_INT(),
        Types.BIG_DEC(),
        Types.SQL_DATE(),
        Types.SQL_TIME(),
        Types.SQL_TIMESTAMP(),
        Types.INSTANT(),
        Types.PICKLED_BYTE_ARRAY(),
        Types.ROW([Types.INT()]),
        Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()]),
        Types.TUPLE([Types.INT(), Types.STRING()]),
        Types.PRIMITIVE_ARRAY(Types.INT()),
        Types.BASIC_ARRAY(Types.STRING()),
        Types.OBJECT_ARRAY(Types.ROW([Types.INT()])),
        Types.MAP(Types.STRING(), Types.INT()),
        Types.LIST(Types.INT()),
    ]
    for _i, t in enumerate(ts):
        print(t, repr(t), [j for j, other in enumerate(ts) if t == other])
    row = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
    print(
        row.get_field_names(),
        row.get_field_types(),
        Types.ROW([Types.INT(), Types.INT()]).get_field_names(),
        Types.TUPLE([Types.INT()]).get_field_types(),
    )

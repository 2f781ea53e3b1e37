"""What rows do."""

from rekindle.common import Row, RowKind


def main(env):
    r = Row("a", 1)
    n = Row(name="x", age=3)
    print(r, repr(r), n, repr(n), n.name, n["age"], n[0], r[1], len(n))
    print(n.as_dict(), n.as_dict(True), Row(a=Row(b=1)).as_dict(), Row(a=Row(b=1)).as_dict(recursive=True))
    print(r.get_row_kind(), RowKind.INSERT, repr(RowKind.DELETE), [str(k) for k in RowKind])
    n.set_row_kind(RowKind.UPDATE_AFTER)
    print(n.get_row_kind(), n, n == Row(name="x", age=3))
    print(Row(1, 2) == Row(1, 2), Row(1, 2) == (1, 2), Row(a=1) == Row(1), hash(Row(1, 2)) == hash(Row(1, 2)))
    print("name" in n, "x" in n, 1 in r)
    a, b = r
    print(a, b, list(n), tuple(n))
    person = Row("name", "age")
    p = person("Bob", 3)
    print(p, p.name)
    n["age"] = 9
    r[0] = "zz"
    print(n, r)
    q = Row(1, 2)
    q.set_field_names(["u", "v"])
    print(q, q.u, q.get_fields_by_names(["v"]))

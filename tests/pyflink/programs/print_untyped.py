"""Print records without a type."""

import datetime
import decimal

from rekindle.common import Row


class A:
    def __repr__(self):
        return "A!"

    def __str__(self):
        return "strA"


def main(env):
    env.from_collection(
        [
            1,
            1.0,
            "s",
            (1, "a"),
            [1, "b"],
            {"k": "v"},
            {1},
            Row(1, "x"),
            Row(a="y"),
            datetime.date(2020, 1, 1),
            decimal.Decimal("1.0"),
            True,
            1e20,
            "ünï\n2",
            ("q'", 'd"'),
        ]
    ).map(lambda x: x).print()
    env.execute()

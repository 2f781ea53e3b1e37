"""Tags of side outputs."""

from rekindle.common import Types
from rekindle.datastream import OutputTag


def main(env):
    a = OutputTag("x", Types.INT())
    b = OutputTag("x")
    c = OutputTag("x", [Types.INT(), Types.STRING()])
    print(a.tag_id, a.type_info, b.type_info, c.type_info, a == b)

"""Set and read configurations."""

from rekindle.common import Configuration


def main(env):
    c = Configuration()
    c.set_string("s", "abc")
    c.set_integer("i", 5)
    c.set_boolean("b", True)
    c.set_float("f", 1.5)
    c.set_bytearray("ba", bytearray([1, 2]))
    print(
        c.get_string("s", "x"),
        c.get_string("nope", "dflt"),
        c.get_integer("i", 0),
        c.get_boolean("b", False),
        c.get_float("f", 0.0),
        c.get_bytearray("ba", bytearray()),
        c.get_string("i", ""),
        c.get_integer("zz", 7),
    )
    print(sorted(c.key_set()), c.contains_key("s"), c.contains_key("t"))
    print(sorted(c.to_dict().items()))
    d = Configuration(c)
    d.set_string("t", "u")
    print(c.contains_key("t"), d == c, Configuration(c) == c)
    c.add_all(d, "p.")
    print(sorted(c.key_set()))
    print(c.remove_config("s") if hasattr(c, "remove_config") else None, c.contains_key("s"))
    c.add_all_to_dict({}) if hasattr(c, "add_all_to_dict") else None
    print(str(Configuration().set_string("a", "b")))

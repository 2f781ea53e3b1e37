"""Settings of single operators."""

from rekindle.common import Types


def main(env):
    ds = env.from_collection([1, 2], Types.INT()).set_description("numbers")
    m = (
        ds.map(lambda x: x + 1, Types.INT())
        .disable_chaining()
        .set_buffer_timeout(5)
        .start_new_chain()
        .set_uid_hash("a" * 32)
    )
    m.filter(lambda x: x > 2).force_non_parallel().print("out").set_description("d").disable_chaining()
    env.disable_operator_chaining() if hasattr(env, "disable_operator_chaining") else None
    print(env.is_chaining_enabled(), env.get_buffer_timeout())
    env.set_buffer_timeout(7)
    print(env.get_buffer_timeout())
    env.execute()

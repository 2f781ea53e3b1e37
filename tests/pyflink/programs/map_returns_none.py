"""Map to None."""


def main(env):
    env.from_collection([1, 2]).map(lambda x: None).print("m")
    env.execute()

"""Two keyed operators in a row."""


def main(env):
    ds = env.from_collection([(k, i) for i in range(4) for k in "dcba"])
    ds.key_by(lambda x: x[0]).reduce(lambda a, b: (a[0], a[1] + b[1])).key_by(lambda x: x[1] % 2).reduce(
        lambda a, b: (a[0] + b[0], a[1] + b[1])
    ).print()
    env.execute()

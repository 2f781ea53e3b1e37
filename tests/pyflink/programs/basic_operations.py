"""Map, filter and sum rows that hold JSON."""

import json

from rekindle.common import Types


def main(env):
    ds = env.from_collection(
        collection=[
            (1, '{"name": "Flink", "tel": 123, "addr": {"country": "Germany", "city": "Berlin"}}'),
            (2, '{"name": "hello", "tel": 135, "addr": {"country": "China", "city": "Shanghai"}}'),
            (3, '{"name": "world", "tel": 124, "addr": {"country": "USA", "city": "NewYork"}}'),
            (4, '{"name": "PyFlink", "tel": 32, "addr": {"country": "China", "city": "Hangzhou"}}'),
        ],
        type_info=Types.ROW_NAMED(["id", "info"], [Types.INT(), Types.STRING()]),
    )

    def update_tel(data):
        json_data = json.loads(data.info)
        json_data["tel"] += 1
        return data.id, json.dumps(json_data)

    def show(ds, env):
        ds.print()
        env.execute()

    show(ds.map(update_tel), env)
    show(ds.filter(lambda data: data.id == 1).map(update_tel), env)
    show(
        ds.map(lambda data: (json.loads(data.info)["addr"]["country"], json.loads(data.info)["tel"]))
        .key_by(lambda data: data[0])
        .sum(1),
        env,
    )

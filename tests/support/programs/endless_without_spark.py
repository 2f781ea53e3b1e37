"""Runs a job without Spark that only ends when it is told to. Arguments: how the program waits for it, settings."""

from __future__ import annotations

import sys
import time

from rekindle.datastream import SourceFunction
from rekindle.testing import local_environment


class Endless(SourceFunction):
    def __init__(self) -> None:
        self.running = True

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        number = 0
        while self.running:
            with ctx.get_checkpoint_lock():
                ctx.collect(number)
            number += 1
            time.sleep(0.01)

    def cancel(self) -> None:
        self.running = False


how, *settings = sys.argv[1:]
env = local_environment(2, {"rest.enabled": "true", **dict(setting.split("=", 1) for setting in settings)})
numbers = env.add_source(Endless()).uid("numbers")
sums = numbers.key_by(lambda number: number % 3).reduce(lambda a, b: a + b).uid("sums")
if how == "collect":
    print("began", flush=True)
    for _ in sums.execute_and_collect("endless"):
        continue
    print("went on")
sums.filter(lambda number: False).print()
if how == "execute":
    print("began", flush=True)
    env.execute("endless")
    print("went on")
if how == "async":
    client = env.execute_async("endless")
    print("began", flush=True)
    while True:
        time.sleep(60)

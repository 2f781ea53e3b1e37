"""Asynchronous requests, in order."""

import asyncio

from rekindle.common import Time, Types
from rekindle.datastream import AsyncDataStream, AsyncFunction


class A(AsyncFunction):
    async def async_invoke(self, value):
        await asyncio.sleep(0.01 * (5 - value))
        return [value * 2, value * 2 + 1]


def main(env):
    ds = env.from_collection([1, 2, 3, 4], Types.INT())
    AsyncDataStream.ordered_wait(ds, A(), Time.seconds(5), 2, Types.INT()).print("ordered")
    AsyncDataStream.ordered_wait(ds, A(), Time.seconds(5)).print("untyped")
    env.execute()

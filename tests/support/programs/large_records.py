"""Sends large values through an exchange, and says how much memory the slots took.

large_records.py NUMBER BYTES HEAP
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator
from typing import Any

from rekindle.common import Configuration
from rekindle.datastream import KeyedProcessFunction, StreamExecutionEnvironment


class Measure(KeyedProcessFunction):
    """Give the size of what came, and the most memory that this process has had so far, in megabytes."""

    def process_element(self, value: tuple[int, bytes], ctx: Any) -> Iterator[tuple[int, int, int]]:
        number, data = value
        yield number, len(data), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main() -> None:
    """Run the job."""
    count, size = int(sys.argv[1]), int(sys.argv[2])
    configuration = Configuration.from_dict({"spark.driver.memory": sys.argv[3], "rekindle.progress": "log"})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    large = env.from_collection(list(range(count))).map(lambda number: (number, bytes([number % 256]) * size))
    with large.key_by(lambda value: value[0]).process(Measure()).execute_and_collect() as results:
        found = list(results)
    assert sorted(number for number, _, _ in found) == list(range(count))
    assert {length for _, length, _ in found} == {size}
    print(f"all {count} arrived; a slot took {max(peak for _, _, peak in found)} MB")


if __name__ == "__main__":
    main()

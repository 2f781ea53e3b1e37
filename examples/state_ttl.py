"""Let state expire: a visitor who stays away for a second is new again, but not for the loyalty programme."""

import time

from rekindle.common import Time, Types
from rekindle.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from rekindle.datastream.state import MapStateDescriptor, StateTtlConfig, ValueStateDescriptor

visits = [  # seconds to wait, visitor, page
    (0.0, "ada", "home"),
    (0.0, "ada", "help"),
    (0.0, "bob", "home"),
    (1.1, "ada", "news"),
    (0.0, "ada", "home"),
    (0.0, "bob", "news"),
]


class CountVisits(KeyedProcessFunction):
    def open(self, runtime_context):
        one_second = (
            StateTtlConfig.new_builder(Time.seconds(1))
            .update_ttl_on_create_and_write()  # or update_ttl_on_read_and_write()
            .never_return_expired()  # or return_expired_if_not_cleaned_up()
            # Expired state is never seen. These say when it is removed if nobody looks at it any more:
            .cleanup_full_snapshot()  # it is not written to checkpoints
            .cleanup_incrementally(10, run_cleanup_for_every_record=True)  # with the hashmap backend
            .cleanup_in_rocksdb_compact_filter(1000)  # with RocksDB
            .build()
        )
        # Of a map, each entry expires by itself, and so does each element of a list.
        pages = MapStateDescriptor("pages of this visit", Types.STRING(), Types.BOOLEAN())
        pages.enable_time_to_live(one_second)
        self.pages = runtime_context.get_map_state(pages)
        points = ValueStateDescriptor("loyalty points", Types.INT())
        # Or leave it to the backend when expired state is removed, which is what happens if nothing is said.
        one_year = StateTtlConfig.new_builder(Time.days(365)).cleanup_in_background().build()
        points.enable_time_to_live(one_year)
        self.points = runtime_context.get_state(points)

    def process_element(self, visit, ctx):
        seconds, visitor, page = visit
        time.sleep(seconds)  # time to live is measured by the clock on the wall
        self.pages.put(page, True)
        self.points.update((self.points.value() or 0) + 1)
        pages = ", ".join(sorted(self.pages.keys()))
        yield f"{visitor} has seen {pages} of late; points: {self.points.value()}"


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
env.from_collection(visits).key_by(lambda visit: visit[1]).process(CountVisits()).print()
env.execute("state that expires")

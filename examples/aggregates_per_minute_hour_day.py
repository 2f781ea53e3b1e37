"""Aggregate events per minute, hour and day.

Each aggregate is made of the one below it: an hour adds up its minutes, and never sees an event. This works because the
result of a window has a timestamp, too: the last millisecond of the window.
"""

from datetime import UTC, datetime

from rekindle.common import Duration, Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import ProcessWindowFunction, StreamExecutionEnvironment
from rekindle.datastream.window import TumblingEventTimeWindows

page_views = [  # nearly in the order of their times
    ("home", "2026-03-01 09:58:10"),
    ("home", "2026-03-01 09:58:50"),
    ("help", "2026-03-01 09:59:05"),
    ("home", "2026-03-01 09:58:59"),
    ("home", "2026-03-01 10:00:00"),
    ("help", "2026-03-01 10:59:59"),
    ("home", "2026-03-01 23:59:59"),
    ("home", "2026-03-02 00:00:00"),
    ("home", "2026-03-02 00:00:30"),
]
COUNT = Types.TUPLE([Types.STRING(), Types.INT(), Types.STRING()])  # page, number of views, start of the window


class ViewTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return int(datetime.fromisoformat(value[1]).replace(tzinfo=UTC).timestamp() * 1000)


class WithStart(ProcessWindowFunction):
    """Add to a window's result when the window began."""

    def __init__(self, date_format):
        self.date_format = date_format

    def process(self, page, context, counts):
        (count,) = counts  # the one result of the reduce below
        start = datetime.fromtimestamp(context.window().start / 1000, UTC)
        yield page, count[1], start.strftime(self.date_format)


def views_per(size, stream, date_format):
    windows = stream.key_by(lambda count: count[0], Types.STRING()).window(TumblingEventTimeWindows.of(size))
    # Only the sum is kept while a window is open, not its events.
    return windows.reduce(lambda a, b: (a[0], a[1] + b[1], ""), WithStart(date_format), COUNT)


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
times = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(10)).with_timestamp_assigner(ViewTime())
views = env.from_collection(page_views).assign_timestamps_and_watermarks(times)
per_minute = views_per(Time.minutes(1), views.map(lambda view: (view[0], 1, ""), COUNT), "%Y-%m-%d %H:%M")
per_hour = views_per(Time.hours(1), per_minute, "%Y-%m-%d %H:00")
per_day = views_per(Time.days(1), per_hour, "%Y-%m-%d")

per_minute.print("minute")
per_hour.print("hour")
per_day.print("day")
env.execute("page views")

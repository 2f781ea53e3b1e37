"""Names of windows and assigners."""

from rekindle.common import Time
from rekindle.datastream.window import (
    CountWindow,
    EventTimeSessionWindows,
    GlobalWindow,
    GlobalWindows,
    ProcessingTimeSessionWindows,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeWindow,
    TriggerResult,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)


def main(env):
    print(
        TimeWindow(1, 5),
        repr(TimeWindow(1, 5)),
        CountWindow(3),
        repr(CountWindow(3)),
        GlobalWindow(),
        repr(GlobalWindow()),
    )
    print(
        TimeWindow(1, 5) == TimeWindow(1, 5),
        TimeWindow(1, 5) == TimeWindow(1, 6),
        TimeWindow(1, 5).intersects(TimeWindow(5, 6)),
        TimeWindow(1, 5).cover(TimeWindow(3, 8)),
        TimeWindow.get_window_start_with_offset(13, 2, 5),
    )
    print(CountWindow(3).max_timestamp(), GlobalWindow().max_timestamp(), TimeWindow(1, 5).max_timestamp())
    for t in TriggerResult:
        print(t, t.is_fire(), t.is_purge())
    five, one = Time.seconds(5), Time.seconds(1)
    for x in (
        TumblingEventTimeWindows.of(five),
        TumblingProcessingTimeWindows.of(five),
        SlidingEventTimeWindows.of(five, one),
        SlidingProcessingTimeWindows.of(five, one),
        EventTimeSessionWindows.with_gap(five),
        ProcessingTimeSessionWindows.with_gap(five),
        GlobalWindows.create(),
    ):
        print(x, x.is_event_time())

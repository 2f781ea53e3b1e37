"""Cut the events of each user into sessions: a session ends when nothing has happened for a while."""

from rekindle.common import Time, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import ProcessWindowFunction, StreamExecutionEnvironment
from rekindle.datastream.window import EventTimeSessionWindows, SessionWindowTimeGapExtractor

GAP = 30
clicks = [  # user, minute, page
    ("ada", 0, "home"),
    ("ada", 20, "help"),
    ("bob", 25, "home"),
    ("ada", 70, "news"),
    ("ada", 45, "shop"),  # out of order: it joins what came before and what came after
    ("bob", 60, "film"),  # 35 minutes later: another session, unless one watches a film
    ("bob", 140, "home"),
]


class ClickTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1] * 60_000


class GapByPage(SessionWindowTimeGapExtractor):
    """Who watches a film does not click for two hours, and is still there."""

    def extract(self, element):
        return (120 if element[2] == "film" else GAP) * 60_000


class ShowSession(ProcessWindowFunction):
    def process(self, user, context, elements):
        pages = [page for _, _, page in sorted(elements, key=lambda click: click[1])]
        start, end = context.window().start // 60_000, context.window().end // 60_000
        yield f"{user} from minute {start} to {end}: {', '.join(pages)}"


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(ClickTime())
stream = env.from_collection(clicks).assign_timestamps_and_watermarks(times)
by_user = stream.key_by(lambda click: click[0])
by_user.window(EventTimeSessionWindows.with_gap(Time.minutes(GAP))).process(ShowSession()).print("same gap")
by_user.window(EventTimeSessionWindows.with_dynamic_gap(GapByPage())).process(ShowSession()).print("gap by page")
env.execute("sessions")

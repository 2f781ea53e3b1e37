"""Times, durations and instants."""

from rekindle.common import Duration, Instant, Time


def main(env):
    print(
        Time.seconds(5).to_milliseconds(),
        Time.minutes(1).to_milliseconds(),
        Time.hours(1).to_milliseconds(),
        Time.days(1).to_milliseconds(),
        Time.milliseconds(7).to_milliseconds(),
        Time.seconds(1) == Time.milliseconds(1000),
    )
    print(
        Duration.of_seconds(60) == Duration.of_minutes(1),
        Duration.of_hours(24) == Duration.of_days(1),
        Duration.of_millis(1) == Duration.of_nanos(1),
    )
    i = Instant.of_epoch_milli(1500)
    print(i, repr(i), i.to_epoch_milli(), i == Instant(1, 500000000), i.seconds, i.nanos)

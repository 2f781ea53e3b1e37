"""Configuration options of a job: its graph, its execution, its restarts."""

from __future__ import annotations

from rekindle.config.config_options import ConfigOptions

__all__ = [
    "CoreOptions",
    "ExecutionOptions",
    "PipelineOptions",
    "RestartStrategyOptions",
]

_key = ConfigOptions.key
_MAX_PARALLELISM_LIMIT = 32_768


class RestartStrategyOptions:
    """List the options of restarts after a failure."""

    RESTART_STRATEGY = (
        _key("restart-strategy.type")
        .enum_type(
            ("none", "fixed-delay", "failure-rate", "exponential-delay"),
            aliases={
                "off": "none",
                "disable": "none",
                "fixeddelay": "fixed-delay",
                "failurerate": "failure-rate",
                "exponentialdelay": "exponential-delay",
            },
        )
        .no_default_value()
        .with_fallback_keys("restart-strategy")
        .with_description("When a failed job is restarted; unset: with growing delays if there are checkpoints.")
    )
    FIXED_DELAY_ATTEMPTS = (
        _key("restart-strategy.fixed-delay.attempts")
        .int_type(minimum=0)
        .default_value(1)
        .with_description("Maximum number of restarts.")
    )
    FIXED_DELAY_DELAY = (
        _key("restart-strategy.fixed-delay.delay")
        .duration_type()
        .default_value("1 s")
        .with_description("How long to wait before each restart.")
    )
    FAILURE_RATE_MAX_FAILURES = (
        _key("restart-strategy.failure-rate.max-failures-per-interval")
        .int_type(minimum=1)
        .default_value(1)
        .with_description("How many failures within the interval are still followed by a restart.")
    )
    FAILURE_RATE_INTERVAL = (
        _key("restart-strategy.failure-rate.failure-rate-interval")
        .duration_type()
        .default_value("1 min")
        .with_description("The interval in which failures are counted.")
    )
    FAILURE_RATE_DELAY = (
        _key("restart-strategy.failure-rate.delay")
        .duration_type()
        .default_value("1 s")
        .with_description("How long to wait before each restart.")
    )
    EXPONENTIAL_DELAY_INITIAL_BACKOFF = (
        _key("restart-strategy.exponential-delay.initial-backoff")
        .duration_type()
        .default_value("1 s")
        .with_description("The first delay.")
    )
    EXPONENTIAL_DELAY_MAX_BACKOFF = (
        _key("restart-strategy.exponential-delay.max-backoff")
        .duration_type()
        .default_value("1 min")
        .with_description("The longest delay.")
    )
    EXPONENTIAL_DELAY_BACKOFF_MULTIPLIER = (
        _key("restart-strategy.exponential-delay.backoff-multiplier")
        .double_type()
        .default_value(1.5)
        .with_description("The factor from one delay to the next.")
    )
    EXPONENTIAL_DELAY_RESET_BACKOFF_THRESHOLD = (
        _key("restart-strategy.exponential-delay.reset-backoff-threshold")
        .duration_type()
        .default_value("1 h")
        .with_description("How long the job must run well for the delay to be reset.")
    )
    EXPONENTIAL_DELAY_JITTER_FACTOR = (
        _key("restart-strategy.exponential-delay.jitter-factor")
        .double_type()
        .default_value(0.1)
        .with_description("The fraction by which a delay is shifted at random.")
    )
    EXPONENTIAL_DELAY_ATTEMPTS = (
        _key("restart-strategy.exponential-delay.attempts-before-reset-backoff")
        .int_type(minimum=1)
        .default_value((1 << 31) - 1)
        .with_description("Maximum number of restarts before the delay is reset.")
    )


class PipelineOptions:
    """List the options of a program's graph."""

    NAME = _key("pipeline.name").string_type().no_default_value().with_description("The job's name.")
    MAX_PARALLELISM = (
        _key("pipeline.max-parallelism")
        .int_type(minimum=-1, maximum=_MAX_PARALLELISM_LIMIT)
        .default_value(-1)
        .with_description("The number of key groups; -1: derived from the parallelism.")
    )
    AUTO_WATERMARK_INTERVAL = (
        _key("pipeline.auto-watermark-interval")
        .duration_type()
        .default_value("200 ms")
        .with_description("Time between watermarks.")
    )
    AUTO_GENERATE_UIDS = (
        _key("pipeline.auto-generate-uids")
        .boolean_type()
        .default_value(True)
        .with_description("Whether operators may go without a uid.")
    )
    GLOBAL_JOB_PARAMETERS = (
        _key("pipeline.global-job-parameters")
        .string_type()
        .no_default_value()
        .with_description("Parameters that every function of the job can read, as key:value,key:value.")
    )


class ExecutionOptions:
    """List the options of execution."""

    RUNTIME_MODE = (
        _key("execution.runtime-mode")
        .enum_type(("STREAMING", "BATCH", "AUTOMATIC"))
        .default_value("STREAMING")
        .with_description("Whether bounded input is treated as a stream or as a whole.")
    )


class CoreOptions:
    """List the options that many parts share."""

    DEFAULT_PARALLELISM = (
        _key("parallelism.default")
        .int_type(minimum=1, maximum=_MAX_PARALLELISM_LIMIT)
        .no_default_value()
        .with_description("The parallelism of operators that set none; unset: the environment decides.")
    )

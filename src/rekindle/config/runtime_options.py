"""Configuration options of the processes that run a job."""

from __future__ import annotations

from rekindle.config.config_options import ConfigOption, ConfigOptions

__all__ = [
    "HeartbeatOptions",
    "JobManagerOptions",
    "PythonOptions",
    "QueryableStateOptions",
    "RekindleOptions",
]

_key = ConfigOptions.key


class HeartbeatOptions:
    """List the options of heartbeats between job master and slots."""

    INTERVAL = (
        _key("heartbeat.interval").duration_type().default_value("1 s").with_description("Time between two heartbeats.")
    )
    TIMEOUT = (
        _key("heartbeat.timeout")
        .duration_type()
        .default_value("50 s")
        .with_description("How long a slot may be silent before it counts as lost.")
    )


class JobManagerOptions:
    """List the options of the job master."""

    RPC_PORT = (
        _key("jobmanager.rpc.port")
        .int_type(minimum=0, maximum=65_535)
        .default_value(0)
        .with_description("The port at which slots reach the job master; 0: any free one.")
    )


def _threads(key: str, old_key: str, whose: str) -> ConfigOption[int]:
    option = _key(key).int_type(minimum=0).default_value(0).with_fallback_keys(old_key)
    return option.with_description(f"How many threads {whose} has; 0: as many as there are slots.")


class QueryableStateOptions:
    """List the options of queryable state."""

    ENABLE = (
        _key("queryable-state.enable")
        .boolean_type()
        .default_value(False)
        .with_description("Whether slots run a proxy and a server for queries of state.")
    )
    SERVER_PORTS = (
        _key("queryable-state.server.ports")
        .port_range_type()
        .default_value("9067")
        .with_fallback_keys("query.server.ports")
        .with_description("Ports for the state servers.")
    )
    PROXY_PORTS = (
        _key("queryable-state.proxy.ports")
        .port_range_type()
        .default_value("9069")
        .with_fallback_keys("query.proxy.ports")
        .with_description("Ports for the proxies.")
    )
    BIND_ADDRESS = (
        _key("queryable-state.proxy.bind-address")
        .string_type()
        .default_value("127.0.0.1")
        .with_description("The address on which proxies listen. Beyond this machine, clients need a token.")
    )
    TOKEN = (
        _key("queryable-state.token")
        .string_type()
        .no_default_value()
        .with_description("What clients of queryable state have to show; unset: what only the user's processes know.")
    )
    SERVER_NETWORK_THREADS = _threads(
        "queryable-state.server.network-threads", "query.server.network-threads", "the state server's network"
    )
    SERVER_QUERY_THREADS = _threads(
        "queryable-state.server.query-threads", "query.server.query-threads", "the state server"
    )
    PROXY_NETWORK_THREADS = _threads(
        "queryable-state.proxy.network-threads", "query.proxy.network-threads", "the proxy's network"
    )
    PROXY_QUERY_THREADS = _threads("queryable-state.proxy.query-threads", "query.proxy.query-threads", "the proxy")


class RekindleOptions:
    """List the options that are Rekindle's own."""

    SLOT_ORPHAN_TIMEOUT = (
        _key("rekindle.slot.orphan-timeout")
        .duration_type()
        .default_value("8 s")
        .with_description("A slot that hears nothing from its job master for this long ends itself.")
    )
    EPOCH_MAX_DURATION = (
        _key("rekindle.epoch.max-duration")
        .duration_type()
        .default_value("1 s")
        .with_description("Target duration of an epoch of sources in the slots.")
    )
    EPOCH_MAX_RECORDS = (
        _key("rekindle.epoch.max-records")
        .long_type(minimum=1)
        .default_value(1_000_000)
        .with_description("Maximum number of records per epoch from sources in the slots, all subtasks together.")
    )
    TABLES_STAGING_DIR = (
        _key("rekindle.tables.staging-dir")
        .string_type()
        .no_default_value()
        .with_description("Where rows for Spark writers wait in a job that keeps no checkpoints in files.")
    )
    COLUMNS_ENABLED = (
        _key("rekindle.columns.enabled")
        .boolean_type()
        .default_value(True)
        .with_description("Whether functions are run by columns where their results are the same.")
    )
    COLUMNS_COMBINE_FLOATS = (
        _key("rekindle.columns.combine-floats")
        .boolean_type()
        .default_value(False)
        .with_description(
            "Whether sums of floats are begun before records are sent. That is faster; the last digits of a sum then "
            "depend on how its records were read."
        )
    )
    BATCH_MEMORY_RECORDS = (
        _key("rekindle.batch.memory-records")
        .int_type(minimum=1)
        .default_value(500_000)
        .with_description("How many records an operator of a batch job gathers in memory, in each slot.")
    )
    SHOW_RECORDS = (
        _key("rekindle.errors.show-records")
        .boolean_type()
        .default_value(True)
        .with_description("Whether an error in user code names the record, and its key, at which it was raised.")
    )
    PROGRESS = (
        _key("rekindle.progress")
        .enum_type(("auto", "live", "log", "none"))
        .default_value("auto")
        .with_description("How progress is shown: a live view, log lines, or not at all.")
    )
    ARCHIVED_JOBS = (
        _key("rekindle.archive.max-jobs")
        .int_type(minimum=0)
        .default_value(100)
        .with_description("How many ended jobs are kept on disk; 0: none.")
    )
    HISTORY_JOBS = (
        _key("rekindle.history.max-jobs")
        .int_type(minimum=0)
        .default_value(50)
        .with_description("Of how many jobs a record is kept in a checkpoint directory, for rekindle history; 0: none.")
    )
    SIGNAL_ACTION = (
        _key("rekindle.signal.action")
        .enum_type(("cancel", "stop-with-savepoint", "suspend"))
        .no_default_value()
        .with_description("What SIGTERM and SIGHUP do to a job; unset: cancel, with high availability suspend.")
    )


class PythonOptions:
    """List PyFlink's options of its Python processes."""

    PYTHON_FILES = (
        _key("python.files")
        .string_type()
        .no_default_value()
        .with_description("Modules, packages, zips and directories that functions import, separated by commas.")
    )
    PYTHON_EXECUTABLE = (
        _key("python.executable")
        .string_type()
        .no_default_value()
        .with_description("The Python that runs functions; unset: PYSPARK_PYTHON, else the program's own.")
    )

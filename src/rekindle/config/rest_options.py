"""Configuration options of the REST interface."""

from __future__ import annotations

from rekindle.config.config_options import ConfigOptions

__all__ = ["RestOptions"]

_key = ConfigOptions.key


class RestOptions:
    """List the options of the REST interface."""

    ENABLED = (
        _key("rest.enabled")
        .boolean_type()
        .default_value(True)
        .with_description("Whether a driver that runs jobs has a REST interface.")
    )
    BIND_ADDRESS = (
        _key("rest.bind-address").string_type().default_value("127.0.0.1").with_description("The address to listen on.")
    )
    BIND_PORT = (
        _key("rest.bind-port")
        .port_range_type()
        .default_value("8081-8180")
        .with_fallback_keys("rest.port")
        .with_description("The ports to listen on: the first free one, else any; 0: any.")
    )
    ADDRESS = (
        _key("rest.address")
        .string_type()
        .no_default_value()
        .with_description("The name of this machine for clients elsewhere; unset: what it listens on.")
    )
    TOKEN = (
        _key("rest.token")
        .string_type()
        .no_default_value()
        .with_description("What clients must send as 'Authorization: Bearer …'; unset: made up for each driver.")
    )
    AUTHENTICATION = (
        _key("rest.authentication")
        .boolean_type()
        .default_value(True)
        .with_description("Whether clients must send a token; can be false only on loopback.")
    )
    MAX_CONTENT_LENGTH = (
        _key("rest.server.max-content-length")
        .memory_type()
        .default_value("1 mb")
        .with_description("How large the body of a request may be.")
    )
    EXCEPTION_HISTORY_SIZE = (
        _key("web.exception-history-size")
        .int_type(minimum=0)
        .default_value(16)
        .with_description("How many failures of a job are remembered.")
    )

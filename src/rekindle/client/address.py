"""How people write where a job listens, and the URL that this means."""

from __future__ import annotations

from urllib.parse import urlsplit

from rekindle.exceptions import ConfigurationError

DEFAULT_PORT = 8081


def base_url(address: str) -> str:
    """Return the URL for ``host``, ``host:port``, ``[::1]:port`` or a URL, without a slash at its end.

    Raises:
        ConfigurationError: It is not one of these.
    """
    text = address.strip()
    if text == "yarn-cluster":
        raise ConfigurationError(
            "'yarn-cluster' is not the address of a job: a job listens in the process of its program, wherever Spark's "
            f"executors run. Write HOST:PORT, as in localhost:{DEFAULT_PORT}, or nothing for a job on this machine"
        )
    # A bare IPv6 address has colons of its own.
    if "://" not in text:
        text = f"http://[{text}]" if text.count(":") > 1 and not text.startswith("[") else f"http://{text}"
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise _wrong(address) from error
    if parts.scheme not in ("http", "https") or not host or " " in host or parts.query or parts.fragment:
        raise _wrong(address)
    if not text.isprintable():
        raise _wrong(address)
    shown = f"[{host}]" if ":" in host else host
    default = 443 if parts.scheme == "https" else DEFAULT_PORT
    return f"{parts.scheme}://{shown}:{default if port is None else port}{parts.path.rstrip('/')}"


def _wrong(address: str) -> ConfigurationError:
    return ConfigurationError(
        f"{address!r} is not the address of a job: write HOST:PORT, as in localhost:{DEFAULT_PORT}"
    )

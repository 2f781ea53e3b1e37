"""Which locations are on the disk of this machine, and the path that they mean."""

from __future__ import annotations

from rekindle.exceptions import ConfigurationError

_SCHEME = "file:"


def is_local(location: str) -> bool:
    """Return whether a location is a path, or a URI of scheme ``file``."""
    return "://" not in location or _has_scheme(location)


def local_path(location: str, what: str = "URI") -> str:
    """Return the path that a location of this machine means; a path is given back as it is.

    Args:
        location: The path or URI.
        what: What it is for, for the error message.

    Raises:
        ConfigurationError: It is a URI that names another machine, or no absolute path: ``file://data/x`` is the path
            ``/x`` of the machine ``data``.
    """
    if not _has_scheme(location):
        return location
    path = location[len(_SCHEME) :]
    host = ""
    if path.startswith("//"):
        host, slash, path = path[2:].partition("/")
        path = slash + path
    if host.lower() not in ("", "localhost") or not path.startswith("/"):
        meant = f"file:///{'/'.join(part for part in (host, path.strip('/')) if part)}"
        where = f"is on the machine {host!r}" if host else "has no absolute path"
        raise ConfigurationError(f"the {what} {location!r} {where}; write {meant} for a file of this machine")
    return "/" + path.lstrip("/")


def _has_scheme(location: str) -> bool:
    return location[: len(_SCHEME)].lower() == _SCHEME

"""Names of everything in a checkpoint directory: the one place that formats and parses them.

<checkpoint dir>/<job id>/chk-<n>/_metadata            the commit point: a checkpoint without it does not exist
<checkpoint dir>/<job id>/chk-<n>/slot-<i>-<attempt>   the state of slot i
<checkpoint dir>/<job id>/shared/<n>-<i>-<attempt>-…   a file written for checkpoint n that later ones may refer to
<checkpoint dir>/<job id>/shared/rows-<writer>-<n>…    rows that a sink has prepared for the driver to commit
<checkpoint dir>/<job id>/committed/committed-…        the driver has committed the rows of a sink
<checkpoint dir>/<job id>/crashes/crash-<time>-…       the record at which a function raised, see ``crash_records``
<savepoint dir>/savepoint-<job id, 6 digits>-<random>/…  a savepoint: its metadata, and beside it all of its files
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable

from rekindle.base.local_path import is_local, local_path
from rekindle.exceptions import ConfigurationError

METADATA = "_metadata"
SHARED = "shared"
COMMITTED = "committed"
CRASHES = "crashes"
ROWS = "rows-"
_CHECKPOINT = re.compile(r"^chk-(\d+)$")
_NAME = re.compile(r"^[A-Za-z0-9_+=,@-][A-Za-z0-9._+=,@-]*\Z")
_OWN_FILE = re.compile(r"^(?:slot|rows)-[A-Za-z0-9._+=,@-]+\Z")
_SHARED_FILE = re.compile(r"^(?:[0-9]+|rows)-[A-Za-z0-9._+=,@-]+\Z")
_MARKER = re.compile(r"^committed-([0-9a-f]{16})-([0-9]+)\Z")
_PASSWORD = re.compile(
    r"[A-Za-z][A-Za-z0-9+.\-]*://[^/@]*:(?!\d+/)[^@]*@"
)  # a secret may have slashes; 9000/ is a port
_SECRET_OPTION = re.compile(r"(?i)[?&][^=&]*(?:secret|password|token|credential|signature|access_?key|sas)[^=&]*=")
_LONGEST = 3_500  # bytes: most systems take 4,096, and what is written there has names of its own
_LONGEST_NAME = 255
_SHOWN = 100


def checked_location(location: str, what: str) -> str:
    """Return a location back; raise for one that no file system can have.

    Args:
        location: A path or a URI.
        what: What it is for, for the error message.

    Raises:
        ConfigurationError: It has characters that names cannot have, is too long, is on another machine, or has a
            password in it.
    """
    secret_option = _SECRET_OPTION.search(location)
    if secret_option is not None or _PASSWORD.search(location):
        shown = location if secret_option is None else f"{location[: secret_option.start()]}?…"
        if "@" in shown:
            shown = f"{location.partition(':')[0]}://…@{shown.rpartition('@')[2]}"
        raise ConfigurationError(
            f"the {what} {shown} has credentials in it, which would be kept in checkpoints and shown in messages. Give "
            "them to the processes of the job instead: in environment variables such as AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY, or by the role of the machine"
        )
    control = next((letter for letter in location if unicodedata.category(letter) == "Cc"), None)
    if control is not None:
        raise ConfigurationError(f"the {what} {_shown(location)} contains the control character {control!r}: remove it")
    try:
        data = location.encode()
    except UnicodeEncodeError:
        raise ConfigurationError(f"the {what} {_shown(location)} is not UTF-8 text: choose another name") from None
    if len(data) > _LONGEST:
        raise ConfigurationError(
            f"the {what} {_shown(location)} has {len(data):,} bytes, more than the {_LONGEST:,} allowed"
        )
    if is_local(location):
        local_path(location, what)
        longest = max(map(len, data.split(b"/")))
        if longest > _LONGEST_NAME:
            raise ConfigurationError(
                f"the {what} {_shown(location)} contains a name of {longest:,} bytes, more than the "
                f"{_LONGEST_NAME} allowed"
            )
    return location


def _shown(location: str) -> str:
    return repr(location if len(location) <= _SHOWN else location[:_SHOWN] + "…")


def directory(path: str) -> str:
    """Return the one form of a directory's path or URI: without slashes at its end, unless it is the root."""
    shortened = path.rstrip("/")
    return path if shortened.endswith(":") or not shortened else shortened


def join(*parts: str) -> str:
    """Join path parts with single slashes."""
    head, *rest = [part for part in parts if part]
    return "/".join([head.rstrip("/"), *(part.strip("/") for part in rest)])


def checkpoint_directory(job_id: str, checkpoint_id: int) -> str:
    """Name the directory of a checkpoint, relative to the checkpoint root."""
    return join(job_id, checkpoint_name(checkpoint_id))


def checkpoint_name(checkpoint_id: int) -> str:
    """Name the directory of a checkpoint, relative to the directory of its job."""
    return f"chk-{checkpoint_id}"


def checkpoint_id_of(directory: str) -> int | None:
    """Read the checkpoint id from a directory's name; None where it is no checkpoint directory."""
    match = _CHECKPOINT.match(directory.rstrip("/").rsplit("/", 1)[-1])
    return int(match.group(1)) if match else None


def savepoint_directory(job_id: str, distinct: str) -> str:
    """Name the directory of a savepoint, relative to where the user wants it."""
    return f"savepoint-{job_id[:6]}-{distinct}"


def slot_file(slot: int, attempt: int) -> str:
    """Name the state file of a slot; the attempt keeps a late writer of an old attempt out of the way."""
    return f"slot-{slot}-{attempt}"


def shared_file(checkpoint_id: int, slot: int, attempt: int, name: str) -> str:
    """Name a file, below the directory of shared ones, that a slot writes for a checkpoint."""
    return f"{checkpoint_id}-{slot}-{attempt}-{name}"


def written_for(shared_name: str) -> int | None:
    """Read from a shared file's name for which checkpoint it was written; None where it is no such name."""
    number = shared_name.partition("-")[0]
    return int(number) if number.isdigit() else None


def rows_file(writer: str, number: int) -> str:
    """Name a file of rows that wait for their commit.

    It does not begin with a checkpoint, see :func:`written_for`: if that is aborted, the rows belong to the next one.

    Args:
        writer: Who wrote it: a name that no other has, in any attempt of any driver.
        number: Counts the files of the writer.
    """
    return f"{ROWS}{writer}-{number}.parquet"


def is_file_name(name: str) -> bool:
    """Return whether a name is that of one file, wherever it is put, and not of a hidden one."""
    return _NAME.match(name) is not None


def is_shared_name(name: str) -> bool:
    """Return whether a name is one of :func:`shared_file` or :func:`rows_file`."""
    return _SHARED_FILE.match(name) is not None


def is_state_path(path: str, shared: bool) -> bool:
    """Return whether metadata may point to a file by this path: one beside it, or one that its job shares."""
    if not shared:
        return _OWN_FILE.match(path) is not None
    place = from_checkpoint("")
    return path.startswith(f"{place}/") and is_shared_name(path[len(place) + 1 :])


def commit_marker(app_id: str, version: int) -> str:
    """Name the file that says that the rows of a sink are committed up to a version."""
    return f"{COMMITTED}-{_digest(app_id)}-{version}"


def is_commit_marker(name: str) -> bool:
    """Return whether a file is one of :func:`commit_marker`."""
    return _MARKER.match(name) is not None


def committed_version(names: Iterable[str], app_id: str) -> int | None:
    """Return the highest version of a sink that the names of markers say is committed; None: there is none."""
    marks = (mark for name in names if (mark := _MARKER.match(name)) is not None)
    return max((int(mark[2]) for mark in marks if mark[1] == _digest(app_id)), default=None)


def _digest(name: str) -> str:
    """Return a short name for something whose own may have any characters."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def from_checkpoint(shared_name: str) -> str:
    """Return the path of a shared file relative to the directory of a checkpoint of the same job."""
    return join("..", SHARED, shared_name)


def resolve(directory: str, path: str) -> str:
    """Return the path, relative to the storage's root, of a file that metadata in ``directory`` points to."""
    parts = [part for part in directory.split("/") if part]
    for part in path.split("/"):
        if part == "..":
            if not parts:
                return path  # a checkpoint moved without what it shares: reading it says so
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)

"""Names of everything a file sink writes: the one place that formats and parses them.

<base path>/<bucket>/.rekindle-<lineage>-<subtask>-<token>-<counter>.inprogress   being written
<base path>/<bucket>/.rekindle-<lineage>-<subtask>-<token>-<counter>.pending      whole, waits for its commit
<base path>/<bucket>/.rekindle-<lineage>-<subtask>-<token>-<counter>.kept         the same, and a savepoint refers to it
<base path>/<bucket>/<prefix>-<subtask>-<token>-<counter><suffix>                 finished
<base path>/<bucket>/compacted-<prefix>-<subtask>-<token>-<first>-<last><suffix>   finished, in the place of several

The leading dot hides a file from Spark, Hadoop and Flink readers until it is finished. The lineage is a short
hash of the sink's lineage. The token begins with a hash of the job and is unique to one writer: no two attempts ever
write the same file, and each job knows its own. A file with the records of several has the token and the counters of
the first and the last of these in its name: whoever looks for one of them finds it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rekindle.exceptions import ConfigurationError

_HIDDEN = re.compile(
    r"\.rekindle-(?P<lineage>[0-9a-f]{16})-(?P<subtask>\d+)-(?P<token>[0-9a-f]+)-(?P<counter>\d+)"
    r"\.(?:inprogress|pending)"
)
_COMPACTED = "compacted-"


@dataclass(frozen=True, slots=True)
class PartPaths:
    """Name one part file in its three states, relative to the base path."""

    in_progress: str
    pending: str
    finished: str


@dataclass(frozen=True, slots=True)
class PartNaming:
    """Name the part files of one writer.

    Attributes:
        lineage: The sink's lineage, hashed by :func:`lineage_hash`.
        subtask: Index of the writer.
        token: Hexadecimal digits that no other writer has; the first ones are those of its job.
        prefix: Start of a finished file's name.
        suffix: End of a finished file's name.
    """

    lineage: str
    subtask: int
    token: str
    prefix: str
    suffix: str

    def part(self, bucket_id: str, counter: int) -> PartPaths:
        """Name the part file with this number in a bucket."""
        directory = bucket_directory(bucket_id)
        unique = f"{self.subtask}-{self.token}-{counter}"
        hidden = join(directory, f".rekindle-{self.lineage}-{unique}")
        finished = join(directory, f"{self.prefix}-{unique}{self.suffix}")
        return PartPaths(f"{hidden}.inprogress", f"{hidden}.pending", finished)

    def merged(self, directory: str, counter: int, first: HiddenFile, last: HiddenFile) -> PartPaths:
        """Name the file with the records of several, of which the first and the last are given."""
        hidden = join(directory, f".rekindle-{self.lineage}-{self.subtask}-{self.token}-{counter}")
        together = f"{first.subtask}-{first.token}-{first.counter}-{last.counter}"
        finished = join(directory, f"{_COMPACTED}{self.prefix}-{together}{self.suffix}")
        return PartPaths(f"{hidden}.inprogress", f"{hidden}.pending", finished)


def kept(pending: str) -> str:
    """Return the name under which a pending file outlives a failure of its job."""
    return pending.removesuffix(".pending") + ".kept"


@dataclass(frozen=True, slots=True)
class HiddenFile:
    """Say who wrote a file that is in progress or pending, and to which no savepoint refers."""

    lineage: str
    subtask: int
    token: str = ""
    counter: int = 0

    def is_in(self, finished: str) -> bool:
        """Return whether a finished file, of the same bucket, has the records of this one, with those of others."""
        match = re.match(rf"{_COMPACTED}.*-{self.subtask}-{self.token}-(\d+)-(\d+)", name_of(finished))
        return match is not None and int(match[1]) <= self.counter <= int(match[2])


def parse_hidden(path: str) -> HiddenFile | None:
    """Read who wrote a hidden file from its path; None for any other file, and for one that is kept."""
    match = _HIDDEN.fullmatch(name_of(path))
    if match is None:
        return None
    return HiddenFile(match["lineage"], int(match["subtask"]), match["token"], int(match["counter"]))


def bucket_directory(bucket_id: str) -> str:
    """Turn a bucket id into a directory relative to the base path; the empty one is the base path itself.

    Raises:
        ConfigurationError: The bucket is not a text, or not below the base path.
    """
    if not isinstance(bucket_id, str):
        raise ConfigurationError(
            f"bucket id {bucket_id!r} is of type {type(bucket_id).__name__}; "
            "get_bucket_id of a BucketAssigner has to return a str"
        )
    parts = [part for part in bucket_id.split("/") if part not in ("", ".")]
    if bucket_id.startswith("/") or ".." in parts or "\0" in bucket_id:
        raise ConfigurationError(
            f"bucket id {bucket_id!r} is not a directory below the sink's base path; "
            "get_bucket_id of a BucketAssigner has to return a relative path without '..'"
        )
    return "/".join(parts)


def directory_of(path: str) -> str:
    """Return the directory of a path, relative to the base path as the path is."""
    return path.rpartition("/")[0]


def name_of(path: str) -> str:
    """Return the name of a file without its directory."""
    return path.rpartition("/")[2]


def join(directory: str, name: str) -> str:
    """Join a directory and a name below it; the directory may be empty."""
    return f"{directory}/{name}" if directory else name

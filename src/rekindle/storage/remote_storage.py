"""Which storage a URI means."""

from __future__ import annotations

from rekindle.exceptions import ConfigurationError
from rekindle.storage.hdfs_files import HdfsFiles
from rekindle.storage.object_files import ObjectFiles
from rekindle.storage.remote_files import RemoteFiles

HDFS_SCHEMES = ("hdfs", "viewfs")
OBJECT_SCHEMES = ("s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss")


def remote_files(uri: str, what: str) -> RemoteFiles:
    """Open a URI of HDFS or of an object store. Nothing is asked of it yet.

    Args:
        uri: The URI.
        what: What it is for, for error messages.

    Raises:
        ConfigurationError: There is no such kind of storage, its client is missing, or its options are wrong.
    """
    scheme = uri.partition(":")[0].lower()
    if scheme in HDFS_SCHEMES:
        return HdfsFiles(uri, what)
    if scheme in OBJECT_SCHEMES:
        return ObjectFiles(uri, what)
    raise ConfigurationError(
        f"the {what} {uri!r} cannot be used: there is no storage with the scheme {scheme}. Give a path of a disk, or a "
        "URI that begins with hdfs://, s3://, gs://, az:// or abfs://"
    )

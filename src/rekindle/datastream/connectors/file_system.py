"""The counterpart of ``pyflink.datastream.connectors.file_system``."""

from __future__ import annotations

from rekindle.base.time import Duration as Duration
from rekindle.connectors.files.file_system import (
    BucketAssigner,
    BulkFormat,
    DefaultRollingPolicy,
    FileCompactor,
    FileCompactStrategy,
    FileEnumeratorProvider,
    FileSink,
    FileSource,
    FileSourceBuilder,
    FileSplitAssignerProvider,
    OnCheckpointRollingPolicy,
    OutputFileConfig,
    RollingPolicy,
    StreamFormat,
    StreamingFileSink,
)
from rekindle.contracts.functions import SinkFunction as SinkFunction
from rekindle.formats.schemas import Encoder as Encoder

__all__ = [
    "BucketAssigner",
    "BulkFormat",
    "DefaultRollingPolicy",
    "FileCompactStrategy",
    "FileCompactor",
    "FileEnumeratorProvider",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "OnCheckpointRollingPolicy",
    "OutputFileConfig",
    "RollingPolicy",
    "StreamFormat",
    "StreamingFileSink",
]

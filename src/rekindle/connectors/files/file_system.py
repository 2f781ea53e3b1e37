"""Files as the end of a stream: ``FileSink`` and what configures it, under PyFlink's names.

How files are written and committed is in ``file_sink_writer``. Files are read by Spark, not here.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any, NoReturn

from rekindle.base.time import Duration, Time
from rekindle.connectors.files.bucket_assigner import BucketAssigner
from rekindle.connectors.files.file_compaction import FileCompactor, FileCompactStrategy, not_compacting
from rekindle.connectors.files.file_sink_writer import FileSinkSettings, FileSinkWriter
from rekindle.connectors.files.file_source import (
    BulkFormat,
    FileEnumeratorProvider,
    FileSource,
    FileSourceBuilder,
    FileSplitAssignerProvider,
    StreamFormat,
)
from rekindle.connectors.files.output_file_config import OutputFileConfig
from rekindle.connectors.files.rolling_policy import (
    DefaultRollingPolicy,
    OnCheckpointRollingPolicy,
    RollingPolicy,
    positive_millis,
)
from rekindle.connectors.files.row_encoding import RowEncoder
from rekindle.connectors.files.sink_base_path import absolute, sink_files
from rekindle.contracts.connectors import Sink, SinkWriter, SinkWriterContext
from rekindle.formats.schemas import LineEncoder

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

_BUCKET_CHECK_INTERVAL = 60 * 1000


class FileSink(Sink):
    """Write records to files, exactly once.

    Part files named by :class:`OutputFileConfig` are in the base path, or in a directory below it for each bucket
    that a :class:`BucketAssigner` names. By default ``spark.read.text`` and ``spark.read.json`` read what was
    written from the base path: see :meth:`for_row_format`. A part file is *in progress* while it is written,
    becomes *pending* at the checkpoint barrier and *finished* when that checkpoint is complete, or at the end of
    a bounded job. Until then its name begins with a dot, so that Spark and Hadoop readers skip it. Every part
    file ends at the barrier, whatever the :class:`RollingPolicy`: a file never spans two checkpoints. Without
    checkpoints a streaming job finishes no file before its end.

    A local base path has to be the same directory on every machine of the cluster. Leave files below the base
    path alone until the checkpoint after the one that finished them is complete: a restore looks for them.

    Example::

        sink = (
            FileSink.for_row_format("/data/out")
            .with_output_file_config(OutputFileConfig.builder().with_part_suffix(".json").build())
            .build()
        )
        stream.sink_to(sink)  # and later: spark.read.json("/data/out")
    """

    def __init__(self, settings: FileSinkSettings) -> None:
        """Hold the settings; programs call :meth:`for_row_format`."""
        self._settings = settings

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        """Create the writer of one subtask, and the base directory unless it is there."""
        files = sink_files(self._settings.base_path)
        files.create_base()
        return FileSinkWriter(self._settings, files, context)

    @staticmethod
    def for_row_format(
        base_path: str | os.PathLike[str], encoder: RowEncoder | None = None
    ) -> FileSink.RowFormatBuilder:
        """Begin a sink that writes one record after the other.

        Args:
            base_path: A path or ``file:`` URI of this machine, or a URI that pyarrow reaches (``s3://…``,
                ``gs://…``, ``hdfs://…``). A relative path counts from the directory the program runs in.
            encoder: ``Encoder.simple_string_encoder()``, or anything with ``encode(value) -> bytes``. None writes a
                line for each record: JSON for one with fields (rows, tuples, dicts, dataclasses), else its text.

        Raises:
            TypeError: The encoder has no ``encode``.
        """
        encoder = LineEncoder() if encoder is None else encoder
        if not callable(getattr(encoder, "encode", None)):
            raise TypeError(
                f"FileSink.for_row_format takes an encoder with encode(value) -> bytes, got {encoder!r}; "
                "omit it for lines of text and JSON"
            )
        return FileSink.RowFormatBuilder(absolute(os.fspath(base_path)), encoder)

    @staticmethod
    def for_bulk_format(base_path: str, writer_factory: Any) -> NoReturn:
        """Raise: there are no bulk formats."""
        raise NotImplementedError("FileSink.for_bulk_format is not available in Rekindle. Use FileSink.for_row_format")

    class RowFormatBuilder:
        """Build a :class:`FileSink`; every setting has a default."""

        def __init__(self, base_path: str, encoder: RowEncoder) -> None:
            self._base_path = base_path
            self._encoder = encoder
            self._bucket_assigner = BucketAssigner.base_path_bucket_assigner()
            self._rolling_policy: RollingPolicy = RollingPolicy.default_rolling_policy()
            self._output_file_config = OutputFileConfig.builder().build()
            self._bucket_check_interval = _BUCKET_CHECK_INTERVAL

        def with_bucket_check_interval(self, interval: Duration | Time | timedelta | int) -> FileSink.RowFormatBuilder:
            """Set how often the age of open part files is checked; one minute by default.

            The check takes place when records arrive.

            Args:
                interval: Milliseconds, or a duration.
            """
            self._bucket_check_interval = positive_millis(interval, "interval")
            return self

        def with_bucket_assigner(self, bucket_assigner: BucketAssigner) -> FileSink.RowFormatBuilder:
            """Set what chooses the directory of a record; by default all are in the base path."""
            self._bucket_assigner = bucket_assigner
            return self

        def with_rolling_policy(self, rolling_policy: RollingPolicy) -> FileSink.RowFormatBuilder:
            """Set what ends part files between two checkpoints; 128 MiB or one minute by default."""
            self._rolling_policy = rolling_policy
            return self

        def with_output_file_config(self, output_file_config: OutputFileConfig) -> FileSink.RowFormatBuilder:
            """Set prefix and suffix of finished files; ``part`` and nothing by default."""
            self._output_file_config = output_file_config
            return self

        def enable_compact(self, strategy: FileCompactStrategy, compactor: FileCompactor) -> NoReturn:
            """Raise: files are not compacted."""
            raise not_compacting("FileSink.RowFormatBuilder.enable_compact")

        def disable_compact(self) -> FileSink.RowFormatBuilder:
            """Leave files as they are written, which is always so."""
            return self

        def build(self) -> FileSink:
            """Build the sink."""
            return FileSink(
                FileSinkSettings(
                    self._base_path,
                    self._encoder,
                    self._bucket_assigner,
                    self._rolling_policy,
                    self._output_file_config,
                    self._bucket_check_interval,
                )
            )


class StreamingFileSink:
    """Raise: PyFlink's older file sink, replaced by :class:`FileSink`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            "StreamingFileSink is not available in Rekindle. Use FileSink with the same settings, and sink_to"
        )

    @staticmethod
    def for_row_format(base_path: str, encoder: Any) -> NoReturn:
        """Raise: use ``FileSink.for_row_format``."""
        raise NotImplementedError(
            "StreamingFileSink.for_row_format is not available in Rekindle. Use FileSink.for_row_format"
        )

    @staticmethod
    def for_bulk_format(base_path: str, writer_factory: Any) -> NoReturn:
        """Raise: there are no bulk formats."""
        raise NotImplementedError("StreamingFileSink.for_bulk_format is not available in Rekindle")

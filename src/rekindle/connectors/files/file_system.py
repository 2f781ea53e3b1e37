"""Files as the end of a stream: ``FileSink`` and what configures it, under PyFlink's names.

How files are written and committed is in ``file_sink_writer``, how they are read in ``file_source``.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any, NoReturn, Self

from rekindle.base.time import Duration, Time
from rekindle.connectors.files.bucket_assigner import BucketAssigner
from rekindle.connectors.files.file_compaction import FileCompactor, FileCompactStrategy
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
from rekindle.connectors.files.row_encoding import EncodedRows, RowEncoder
from rekindle.connectors.files.sink_base_path import absolute, sink_files
from rekindle.contracts.connectors import Sink, SinkWriter, SinkWriterContext
from rekindle.formats.bulk_writer import BulkWriterFactory
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
        """Hold the settings; programs call :meth:`for_row_format` or :meth:`for_bulk_format`."""
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
            base_path: A path or ``file:`` URI of this machine, or a URI of HDFS or an object store (``hdfs://…``,
                ``s3://…``, ``gs://…``, ``abfs://…``). A relative path counts from the directory the program runs in.
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
        return FileSink.RowFormatBuilder(absolute(os.fspath(base_path)), EncodedRows(encoder))

    @staticmethod
    def for_bulk_format(
        base_path: str | os.PathLike[str], writer_factory: BulkWriterFactory
    ) -> FileSink.BulkFormatBuilder:
        """Begin a sink that writes files of a format with a head, a foot or columns: Parquet, ORC, Avro, CSV.

        Args:
            base_path: As for :meth:`for_row_format`.
            writer_factory: The format, such as ``ParquetBulkWriters.for_row_type(schema)``.

        Raises:
            TypeError: It is not a format.
        """
        if not isinstance(writer_factory, BulkWriterFactory):
            raise TypeError(
                "FileSink.for_bulk_format takes a BulkWriterFactory, such as ParquetBulkWriters.for_row_type(schema), "
                f"got {writer_factory!r}"
            )
        return FileSink.BulkFormatBuilder(absolute(os.fspath(base_path)), writer_factory)

    class BaseBuilder:
        """Build a :class:`FileSink`; every setting has a default."""

        def __init__(self, base_path: str, written_by: BulkWriterFactory) -> None:
            self._base_path = base_path
            self._written_by = written_by
            self._bucket_assigner = BucketAssigner.base_path_bucket_assigner()
            self._rolling_policy: RollingPolicy = RollingPolicy.default_rolling_policy()
            self._output_file_config = OutputFileConfig.builder().build()
            self._bucket_check_interval = _BUCKET_CHECK_INTERVAL
            self._compaction: tuple[FileCompactStrategy, FileCompactor] | None = None

        def with_bucket_check_interval(self, interval: Duration | Time | timedelta | int) -> Self:
            """Set how often the age of open part files is checked; one minute by default.

            The check takes place when records arrive.

            Args:
                interval: Milliseconds, or a duration.
            """
            self._bucket_check_interval = positive_millis(interval, "interval")
            return self

        def with_bucket_assigner(self, bucket_assigner: BucketAssigner) -> Self:
            """Set what chooses the directory of a record; by default all are in the base path."""
            self._bucket_assigner = bucket_assigner
            return self

        def with_rolling_policy(self, rolling_policy: RollingPolicy) -> Self:
            """Set what ends part files between two checkpoints."""
            self._rolling_policy = rolling_policy
            return self

        def with_output_file_config(self, output_file_config: OutputFileConfig) -> Self:
            """Set prefix and suffix of finished files; ``part`` and nothing by default."""
            self._output_file_config = output_file_config
            return self

        def enable_compact(self, strategy: FileCompactStrategy, compactor: FileCompactor) -> Self:
            """Merge small files before they become visible.

            Args:
                strategy: When.
                compactor: How: ``FileCompactor.concat_file_compactor()`` for lines, and
                    ``FileCompactor.record_wise_file_compactor()`` for bulk formats.
            """
            if not isinstance(strategy, FileCompactStrategy) or not isinstance(compactor, FileCompactor):
                raise TypeError(
                    "enable_compact takes a FileCompactStrategy and a FileCompactor, and was given a "
                    f"{type(strategy).__name__} and a {type(compactor).__name__}"
                )
            self._compaction = strategy, compactor
            return self

        def disable_compact(self) -> Self:
            """Leave files as they are written. What waits in a restored checkpoint becomes visible as it is."""
            self._compaction = None
            return self

        def build(self) -> FileSink:
            """Build the sink.

            Raises:
                ConfigurationError: Files of this format cannot be merged in the way that was given.
            """
            if self._compaction is not None:
                self._compaction[1].check(self._written_by)
            return FileSink(
                FileSinkSettings(
                    self._base_path,
                    self._written_by,
                    self._bucket_assigner,
                    self._rolling_policy,
                    self._output_file_config,
                    self._bucket_check_interval,
                    self._compaction,
                )
            )

    class RowFormatBuilder(BaseBuilder):
        """Build a :class:`FileSink` of a row format; files end after 128 MiB or a minute, and at checkpoints."""

    class BulkFormatBuilder(BaseBuilder):
        """Build a :class:`FileSink` of a bulk format; files end at checkpoints, unless a policy says otherwise."""

        def __init__(self, base_path: str, written_by: BulkWriterFactory) -> None:
            super().__init__(base_path, written_by)
            self._rolling_policy = RollingPolicy.on_checkpoint_rolling_policy()


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

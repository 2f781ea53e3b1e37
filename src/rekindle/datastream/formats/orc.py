"""The counterpart of ``pyflink.datastream.formats.orc``."""

from __future__ import annotations

from rekindle.connectors.files.bulk_writers import OrcBulkWriters
from rekindle.formats.columnar_writers import orc_writer

__all__ = ["OrcBulkWriters", "orc_writer"]

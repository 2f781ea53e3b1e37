"""The counterpart of ``pyflink.datastream.connectors.file_system``."""

from __future__ import annotations

from rekindle.base.time import Duration as Duration
from rekindle.connectors.files.file_system import *  # noqa: F403 - a face has all names of what it shows
from rekindle.connectors.files.file_system import __all__ as __all__
from rekindle.contracts.functions import SinkFunction as SinkFunction
from rekindle.formats.schemas import Encoder as Encoder

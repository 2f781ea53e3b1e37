"""The counterpart of ``pyflink.datastream.output_tag``."""

from __future__ import annotations

from rekindle.contracts.output_tag import (
    OutputTag,
)
from rekindle.types.typeinfo import TypeInformation as TypeInformation
from rekindle.types.typeinfo import Types as Types

__all__ = ["OutputTag"]

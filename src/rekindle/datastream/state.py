"""The counterpart of ``pyflink.datastream.state``."""

from __future__ import annotations

from rekindle.base.time import Duration as Duration
from rekindle.base.time import Time as Time
from rekindle.contracts.state import *  # noqa: F403 - a face has all names of what it shows
from rekindle.contracts.state import __all__ as __all__
from rekindle.types.typeinfo import TypeInformation as TypeInformation
from rekindle.types.typeinfo import Types as Types

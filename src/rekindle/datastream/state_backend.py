"""The counterpart of ``pyflink.datastream.state_backend``."""

from __future__ import annotations

from rekindle.checkpoint.settings.state_backend import *  # noqa: F403 - a face has all names of what it shows
from rekindle.checkpoint.settings.state_backend import __all__ as __all__

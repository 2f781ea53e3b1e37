"""What a sink promises about records after a failure."""

from __future__ import annotations

from enum import Enum


class DeliveryGuarantee(Enum):
    """How often a record arrives outside, whatever fails.

    A job as a whole promises no more than the weakest of its sources and sinks.

    Attributes:
        EXACTLY_ONCE: Once.
        AT_LEAST_ONCE: Once, or again after a failure.
        NONE: Once, again, or not at all after a failure.
    """

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    NONE = 2

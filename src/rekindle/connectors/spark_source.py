"""Sources that Spark reads: what a connector says about them."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from rekindle.contracts.connectors import Source
from rekindle.contracts.time.watermark_strategy import WatermarkStrategy
from rekindle.graph.transformations.sources import DescribedFrame
from rekindle.graph.transformations.transformation import Transformation

__all__ = ["SparkSource"]


class SparkSource(Source):
    """A source whose records Spark reads, and whose position is in Spark's offset log.

    Attributes:
        makes_watermarks: Whether its operator applies the watermark strategy itself, rather than an operator behind it.
    """

    makes_watermarks: ClassVar[bool] = False

    @property
    @abstractmethod
    def bounded(self) -> bool:
        """Return whether the source ends."""

    @abstractmethod
    def frame(self) -> DescribedFrame:
        """Return what Spark is to read."""

    @abstractmethod
    def transformation(self, strategy: WatermarkStrategy | None) -> Transformation:
        """Describe the operator that turns Spark's rows into records.

        Args:
            strategy: How records get timestamps and watermarks, if the source :attr:`makes_watermarks`; None: they get
                none, or from an operator behind this one.
        """

"""Sources that Spark reads: what a connector says about them."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from rekindle.base.type_variables import OUT
from rekindle.contracts.connectors import Source
from rekindle.contracts.functions import SourceFunction
from rekindle.contracts.time.watermark_strategy import WatermarkStrategy
from rekindle.graph.transformations.sources import DescribedFrame
from rekindle.graph.transformations.split_sources import SplitRowsTransformation
from rekindle.graph.transformations.transformation import Transformation

__all__ = ["SparkSource", "SparkSourceFunction"]


class SparkSource(Source[OUT]):
    """A source whose records Spark reads, and whose position is in Spark's offset log.

    Attributes:
        makes_watermarks: Whether its operator applies the watermark strategy itself, rather than an operator behind it.
    """

    makes_watermarks: ClassVar[bool] = False

    def rows(self) -> Transformation:
        """Describe the operator at the head of the rows, where another one behind it turns them into records.

        That is so if the source :attr:`makes_watermarks`, and the program asks for some: rows go to the subtasks that
        follow their splits.
        """
        return SplitRowsTransformation(self.kind)

    @property
    @abstractmethod
    def bounded(self) -> bool:
        """Return whether the source ends."""

    @abstractmethod
    def frame(self) -> DescribedFrame:
        """Return what Spark is to read."""

    def split_frame(self) -> DescribedFrame:
        """Return what Spark is to read where each row has to name its split."""
        return self.frame()

    @abstractmethod
    def transformation(self, strategy: WatermarkStrategy | None) -> Transformation:
        """Describe the operator that turns Spark's rows into records.

        Args:
            strategy: How records get timestamps and watermarks, if the source :attr:`makes_watermarks`; None: they get
                none, or from an operator behind this one.
        """


class SparkSourceFunction(SourceFunction[OUT]):
    """A source of ``env.add_source`` that Spark reads, as those of PyFlink are that Java reads."""

    @abstractmethod
    def source(self) -> SparkSource[OUT]:
        """Return the source that does what this one says."""

"""CachedDataStream: a stream that several jobs of one program read."""

from __future__ import annotations

from rekindle.base.type_variables import T_co
from rekindle.datastream.data_stream import DataStream
from rekindle.datastream.refused_methods import refuse_methods_of_operators

__all__ = ["CachedDataStream"]


class CachedDataStream(DataStream[T_co]):
    """A stream that is read by several jobs of one program.

    Nothing is kept between them: each job computes the stream anew, from the sources on, which gives the same records
    as long as sources and functions do.
    """

    def __init__(self, origin: DataStream[T_co]) -> None:
        """Stand for another stream; programs call ``DataStream.cache``."""
        super().__init__(origin._environment, origin._inputs, None, origin._type_info, origin._hint)

    def invalidate(self) -> None:
        """Forget what is kept of the stream, which is nothing."""


refuse_methods_of_operators(
    CachedDataStream, "Not possible on a cached stream, as in PyFlink: call it on the operator before cache()."
)

"""CachedDataStream: a stream that several jobs of one program read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from rekindle.datastream.data_stream import DataStream

__all__ = ["CachedDataStream"]


class CachedDataStream(DataStream):
    """A stream that is read by several jobs of one program.

    Nothing is kept between them: each job computes the stream anew, from the sources on, which gives the same records
    as long as sources and functions do.
    """

    def __init__(self, origin: DataStream) -> None:
        """Stand for another stream; programs call ``DataStream.cache``."""
        super().__init__(origin._environment, origin._inputs, None, origin._type_info, origin._hint)

    def invalidate(self) -> None:
        """Forget what is kept of the stream, which is nothing."""


def _not_on_cached(method: str) -> Callable[..., NoReturn]:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise Exception(f"{method} for CachedDataStream is not supported.")  # PyFlink's words and type

    refuse.__name__ = method
    refuse.__doc__ = "Not possible on a cached stream, as in PyFlink: call it on the operator before cache()."
    return refuse


for _method in (
    "set_parallelism",
    "name",
    "get_name",
    "uid",
    "set_uid_hash",
    "set_max_parallelism",
    "force_non_parallel",
    "set_buffer_timeout",
    "start_new_chain",
    "disable_chaining",
    "slot_sharing_group",
):
    setattr(CachedDataStream, _method, _not_on_cached(_method))

"""The iterator of ``execute_and_collect``: closing it ends the job."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic

from rekindle.base.type_variables import T_co

__all__ = ["CloseableIterator"]


class CloseableIterator(Generic[T_co]):
    """Iterate over the records of a running job."""

    def __init__(self, records: Iterator[T_co], close: Callable[[], None]) -> None:
        self._records = records
        self._close = close

    def __iter__(self) -> CloseableIterator[T_co]:
        return self

    def __next__(self) -> T_co:
        return next(self._records)

    def next(self) -> T_co:
        """Return the next record; raise StopIteration at the end."""
        return next(self)

    def __enter__(self) -> CloseableIterator[T_co]:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the job if it still runs."""
        self._close()

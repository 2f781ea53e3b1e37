"""Finds the distinct keys of a batch, in the order in which they come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Groups:
    """Say which rows of a batch belong together.

    Attributes:
        codes: The group of each row; groups are counted in the order of their first rows.
        count: How many groups there are.
    """

    codes: Codes
    count: int

    @cached_property
    def first(self) -> Codes:
        """Return the first row of each group."""
        rows = len(self.codes)
        found = np.zeros(self.count, np.int64)
        found[self.codes[::-1]] = np.arange(rows - 1, -1, -1)  # of several writes to one place the last counts
        return found

    @cached_property
    def last(self) -> Codes:
        """Return the last row of each group."""
        found = np.zeros(self.count, np.int64)
        found[self.codes] = np.arange(len(self.codes))
        return found


def groups_of(columns: Sequence[pa.Array]) -> Groups:
    """Group rows by the values of one or several columns; nulls are a value, too."""
    groups = _coded(columns[0])
    for column in columns[1:]:
        other = _coded(column)
        groups = refined(groups, other.codes, other.count)
    return groups


def refined(groups: Groups, codes: Codes, count: int) -> Groups:
    """Divide groups by a second number of each row, which is below ``count``; groups without rows are left out."""
    return _coded(pa.array(groups.codes * count + codes))


def _coded(column: pa.Array) -> Groups:
    encoded = pc.dictionary_encode(column, null_encoding="encode")
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return Groups(codes, len(encoded.dictionary))

"""A chain: what stands between a source of columns and the exchange by key behind it. Pure values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from rekindle.columns.expressions import Expression
from rekindle.columns.folds import Fold
from rekindle.columns.kinds import Kind
from rekindle.columns.shapes import Shape
from rekindle.columns.window_grid import WindowGrid
from rekindle.types.type_information import TypeInformation


@dataclass(frozen=True, slots=True)
class FilterStep:
    """Keep the records for which an expression is true."""

    condition: Expression


@dataclass(frozen=True, slots=True)
class MapStep:
    """Make other records, of these fields and this shape."""

    fields: tuple[Expression, ...]
    shape: Shape


@dataclass(frozen=True, slots=True)
class TimestampStep:
    """Give the records timestamps."""

    expression: Expression


Step: TypeAlias = FilterStep | MapStep | TimestampStep


@dataclass(frozen=True, slots=True)
class WindowedFold:
    """Describe a fold over windows, which a task may begin with before it sends records.

    Attributes:
        fold: The fold.
        grid: The windows.
        floats: Whether sums of floats may be folded in portions, and so come out otherwise in their last digits.
    """

    fold: Fold
    grid: WindowGrid
    floats: bool = False


@dataclass(frozen=True, slots=True)
class ColumnChain:
    """Describe a chain.

    Attributes:
        nodes: The source, and the operators of the steps behind it.
        edge: The exchange at its end.
        source: What the source's records are.
        steps: What is done to them.
        key: The key, or the parts of a key that is a tuple.
        single_key: Whether the key is one value, not a tuple.
        shape: What the records are in the end.
        kinds: The kinds of their fields.
        shares: How many subtasks make watermarks out of the records, each of its share; 0: none do.
        combined: What may be folded before records are sent; None: nothing.
        type_info: The type by which records are converted in the end; None: they are not.
    """

    nodes: tuple[int, ...]
    edge: int
    source: Shape
    steps: tuple[Step, ...]
    key: tuple[Expression, ...]
    single_key: bool
    shape: Shape
    kinds: tuple[Kind, ...]
    shares: int = 0
    combined: WindowedFold | None = None
    type_info: TypeInformation | None = None

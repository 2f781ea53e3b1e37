"""Which operators run by columns: traced from each DataFrame up to the exchange by key behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from logging import getLogger
from typing import Any

from rekindle.columns.chains import ColumnChain, FilterStep, MapStep, Step, TimestampStep, WindowedFold
from rekindle.columns.combinable import may_combine
from rekindle.columns.folds import EXTREMES, SUMS, Fold, fold_of
from rekindle.columns.kinds import NUMBERS, Kind, kind_of, kind_of_spark, truth_of
from rekindle.columns.not_traceable import NotTraceable, naming
from rekindle.columns.program_text import standing_still
from rekindle.columns.purity import traceable, traceable_callable
from rekindle.columns.record_types import fits
from rekindle.columns.shapes import Shape, ShapeKind
from rekindle.columns.tracing import record, trace
from rekindle.columns.window_grid import grid_of
from rekindle.contracts.functions import ReduceFunction
from rekindle.contracts.time.watermark_strategy import WatermarkKind
from rekindle.graph.compilation.conversions import converting, may_be_chained
from rekindle.graph.compilation.parallelism import Parallelism
from rekindle.graph.job_graph import NodeColumns
from rekindle.graph.partitioning import Partitioner, Partitioning
from rekindle.graph.stream_graph import StreamEdge, StreamNode
from rekindle.graph.transformations.one_input import (
    FilterTransformation,
    KeyedBatchTransformation,
    MapTransformation,
    ReduceTransformation,
    TimestampsAndWatermarksTransformation,
)
from rekindle.graph.transformations.sources import DataFrameFunction
from rekindle.graph.transformations.windows import WindowTransformation
from rekindle.types.basic_typeinfo import BasicType, BasicTypeInfo
from rekindle.types.type_information import TypeInformation

_LOG = getLogger(__name__)
_NO_TIMESTAMP = -(1 << 63)
_KEYS = frozenset({Kind.INT, Kind.BOOL, Kind.TEXT})
_KEY_TYPES = {BasicType.STRING: Kind.TEXT, BasicType.BOOLEAN: Kind.BOOL, BasicType.LONG: Kind.INT}
_NARROW_KEYS = ("tinyint", "smallint", "int")

BY_RECORDS = "records"
BY_COLUMNS = "columns"
COMBINED = "columns, folded before the exchange"


@dataclass(frozen=True, slots=True)
class ColumnSettings:
    """Say what may run by columns.

    Attributes:
        enabled: Whether functions are traced.
        combine_floats: Whether sums of floats may be folded in portions, which changes their last digits.
    """

    enabled: bool = True
    combine_floats: bool = False


DEFAULT_COLUMNS = ColumnSettings()


@dataclass(slots=True)
class ColumnPaths:
    """Collect what runs by columns.

    Attributes:
        chains: The chains, by the node behind each and its place among the inputs of that; their edges are not settled.
        fused: The operators in chains.
        columns: How operators behind chains run by columns.
        paths: What the plan says about how operators run.
    """

    chains: dict[tuple[int, int], ColumnChain] = field(default_factory=dict)
    fused: set[int] = field(default_factory=set)
    columns: dict[int, NodeColumns] = field(default_factory=dict)
    paths: dict[int, str] = field(default_factory=dict)


def find_column_paths(
    nodes: Sequence[StreamNode],
    parallelism: Mapping[int, Parallelism],
    loops: Mapping[int, frozenset[int]],
    settings: ColumnSettings,
) -> ColumnPaths:
    """Find the chains of a program, and what runs by columns behind them."""
    found = ColumnPaths()
    readers: dict[int, list[tuple[StreamNode, int, StreamEdge]]] = {}
    for node in nodes:
        for index, edge in enumerate(node.inputs):
            readers.setdefault(edge.source, []).append((node, index, edge))
    in_loops = frozenset[int]().union(*loops.values())
    with standing_still():
        for node in nodes:
            if node.data_frame is not None and node.transformation.passes_rows:
                draft = _Draft.of(node)
                if isinstance(draft, _Draft):
                    stopped = _follow(draft, node, readers, parallelism, in_loops, settings, found)
                    for fused in draft.nodes if stopped else ():
                        found.paths[fused] = f"{BY_RECORDS}: {stopped}"
                else:
                    found.paths[node.id] = f"{BY_RECORDS}: {draft}"
    for node in nodes:
        if node.id not in found.paths:
            found.paths[node.id] = f"{BY_RECORDS}: {_never_reached(node, settings)}"
    return found


def _never_reached(node: StreamNode, settings: ColumnSettings) -> str:
    """Return why no chain has come to an operator."""
    if not node.inputs:
        return "only the rows of a DataFrame come as columns"
    if type(node.transformation) not in _BY_COLUMNS:
        return "an operator of this kind has no column form"
    if not settings.enabled:
        return "rekindle.columns.enabled is false"
    return "its input comes as records"


@dataclass(slots=True)
class _Draft:
    """Hold a chain as far as it has been followed."""

    nodes: list[int]
    source: Shape
    shape: Shape
    kinds: list[Kind]
    narrow: list[bool]  # the fields that are columns with less than 64 bits
    nullable: list[bool]
    steps: list[Step] = field(default_factory=list)
    shares: int = 0

    @staticmethod
    def of(node: StreamNode) -> _Draft | str:
        """Begin at a source; or say why there is no chain."""
        frame: Any = node.data_frame
        schema = getattr(frame.first if isinstance(frame, DataFrameFunction) else frame, "schema", None)
        if schema is None:
            return "its schema is not known before Spark opens it"
        names = [column.name for column in schema.fields]
        if len(set(names)) != len(names):
            return "two of its columns have the same name"
        types = [column.dataType.simpleString() for column in schema.fields]
        shape = Shape.row(names)
        narrow = [name in _NARROW_KEYS for name in types]
        return _Draft(
            [node.id], shape, shape, list(map(kind_of_spark, types)), narrow, [c.nullable for c in schema.fields]
        )

    @property
    def timed(self) -> bool:
        return any(isinstance(step, TimestampStep) for step in self.steps)


def _follow(
    draft: _Draft,
    node: StreamNode,
    readers: Mapping[int, list[tuple[StreamNode, int, StreamEdge]]],
    parallelism: Mapping[int, Parallelism],
    in_loops: frozenset[int],
    settings: ColumnSettings,
    found: ColumnPaths,
) -> str | None:
    """Follow a stream from operator to operator, as long as each can be traced, and note the chain if it ends well.

    Returns:
        Why it does not; None: it does.
    """
    while True:
        following = readers.get(node.id, [])
        if len(following) != 1:
            return f"{node.name!r} is read by {len(following)} operators" if following else "nothing reads it"
        (target, index, edge) = following[0]
        if edge.partitioner.kind is Partitioning.HASH and edge.tag is None:
            break
        refusal = _refusal(node, edge, target, in_loops, settings)
        if refusal is None:
            try:
                with _reading(target):
                    add_step = _STEPS[type(target.transformation)]
                    add_step(draft, target.transformation, parallelism[target.id].parallelism)
            except NotTraceable as reason:
                refusal = str(reason)
        if refusal is not None:
            found.paths[target.id] = f"{BY_RECORDS}: {refusal}"
            return f"{target.name!r} behind it takes records"
        draft.nodes.append(target.id)
        node = target
    try:
        chain = _ended(draft, target, edge, parallelism, settings, found, in_loops)
    except NotTraceable as reason:
        found.paths[target.id] = f"{BY_RECORDS}: {reason}"
        return f"{target.name!r} behind it takes records"
    found.chains[target.id, index] = chain
    found.fused |= set(draft.nodes[1:])
    found.paths.update(dict.fromkeys(draft.nodes, BY_COLUMNS))
    return None


@contextmanager
def _reading(target: StreamNode) -> Iterator[None]:
    """Let whatever fails while a function is read mean that it takes records: no program is refused for that."""
    try:
        yield
    except NotTraceable:
        raise
    except Exception as error:
        failure = _described(error)
    else:
        return
    _LOG.warning(
        "the functions of operator %r could not be read, so that it takes records one by one: %s", target.name, failure
    )
    raise NotTraceable(f"its functions could not be read ({failure})")


def _described(error: Exception) -> str:
    """Return the type of an error and what it says, in one line; the error may be one of the program's own."""
    try:
        said = " ".join(str(error).split())
    except Exception:
        said = ""
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _refusal(
    node: StreamNode, edge: StreamEdge, target: StreamNode, in_loops: frozenset[int], settings: ColumnSettings
) -> str | None:
    """Return why a chain does not go on with an operator, whatever its function does; None: it may."""
    if type(target.transformation) not in _STEPS:
        return "an operator of this kind has no column form"
    if not settings.enabled:
        return "rekindle.columns.enabled is false"
    if edge.tag is not None or target.side_outputs:
        return "it has to do with side outputs"
    if edge.partitioner.kind is not Partitioning.FORWARD:
        return "its input crosses an exchange that is not by key"
    if len(target.inputs) != 1:
        return "it has several inputs"
    if target.id in in_loops:
        return "it is part of a loop"
    if converting(edge.type_info) is not None and not may_be_chained(node, edge, target):
        return f"records are converted to {edge.type_info} before they come to it"
    return None


def _ended(
    draft: _Draft,
    target: StreamNode,
    edge: StreamEdge,
    parallelism: Mapping[int, Parallelism],
    settings: ColumnSettings,
    found: ColumnPaths,
    in_loops: frozenset[int],
) -> ColumnChain:
    """Return the chain up to an exchange by key; note what becomes of the operator behind it."""
    if edge.partitioner.functions:
        raise NotTraceable("its key selector has open() or close()")
    if not fits(converting(edge.type_info), draft.shape, draft.kinds):
        raise NotTraceable(f"records are converted to {edge.type_info} on their way")
    with _reading(target):
        key = _key(draft, edge.partitioner, settings)
    chain = ColumnChain(
        nodes=tuple(draft.nodes),
        edge=-1,
        source=draft.source,
        steps=tuple(draft.steps),
        key=key.fields,
        single_key=key.shape.kind is ShapeKind.VALUE,
        shape=draft.shape,
        kinds=tuple(draft.kinds),
        shares=draft.shares,
        type_info=converting(edge.type_info),
    )
    if not settings.enabled or len(target.inputs) != 1 or target.id in in_loops:
        if len(target.inputs) != 1:
            found.paths[target.id] = f"{BY_RECORDS}: it has several inputs"
        elif target.id in in_loops:
            found.paths[target.id] = f"{BY_RECORDS}: it is part of a loop"
        return chain
    try:
        with _reading(target):
            columns = _columns_of(target, draft)
    except NotTraceable as reason:
        found.paths[target.id] = f"{BY_RECORDS}: {reason}"
        return chain
    if columns is None:
        batches = isinstance(target.transformation, KeyedBatchTransformation)
        found.paths[target.id] = BY_COLUMNS if batches else f"{BY_RECORDS}: an operator of this kind has no column form"
        return chain
    found.columns[target.id] = columns
    found.paths[target.id] = BY_COLUMNS
    windowing = target.transformation.windowing if isinstance(target.transformation, WindowTransformation) else None
    if (
        windowing is not None
        and columns.grid is not None
        and columns.grid.slide <= columns.grid.size  # else some records are in no window, and still count as read
        and draft.timed
        and not windowing.allowed_lateness
        and windowing.late_tag is None
        and may_combine(columns.fold, chain.kinds, settings.combine_floats)
    ):
        found.paths[target.id] = COMBINED
        chain = replace(chain, combined=WindowedFold(columns.fold, columns.grid, settings.combine_floats))
    return chain


def _columns_of(target: StreamNode, draft: _Draft) -> NodeColumns | None:
    transformation = target.transformation
    if isinstance(transformation, ReduceTransformation):
        return NodeColumns(_fold(transformation.function, draft))
    if type(transformation) is WindowTransformation:
        contents = transformation.windowing.contents
        if contents.function is None or contents.evictor is not None:
            raise NotTraceable("its windows keep all their elements")
        grid = grid_of(transformation.windowing.assigner, transformation.windowing.trigger)
        return NodeColumns(_fold(contents.function, draft), grid)
    return None


def _fold(function: Any, draft: _Draft) -> Fold:
    """Return what a function does to records, if all of it is computed by columns."""
    method = "reduce" if isinstance(function, ReduceFunction) else "add"
    with naming(function, method):
        return _checked(fold_of(function, draft.shape), draft)


def _checked(fold: Fold, draft: _Draft) -> Fold:
    if fold.choice is not None and draft.kinds[fold.choice.place] not in NUMBERS:
        raise NotTraceable(f"values of type {draft.kinds[fold.choice.place].value} are not compared by columns")
    for each in fold.fields:
        if each.value is not None:
            kind = kind_of(each.value, draft.kinds)
            if each.kind in SUMS | EXTREMES and kind not in NUMBERS:
                raise NotTraceable(f"values of type {kind.value} are not folded by columns")
    return fold


def _key(draft: _Draft, partitioner: Partitioner, settings: ColumnSettings) -> Any:
    """Trace the key selector; where columns are off it may name columns, and nothing else."""
    with naming(partitioner.key_selector, subject="its key selector"):
        traced = trace(traceable_callable(partitioner.key_selector), record(draft.shape))
        if not traced.fields or traced.shape.kind is ShapeKind.ROW:
            raise NotTraceable("it returns no field")
        for expression in traced.fields:
            if kind_of(expression, draft.kinds) not in _KEYS:
                raise NotTraceable("it returns something else than integers, booleans or text")
            if not settings.enabled and not hasattr(expression, "place"):
                raise NotTraceable("it computes a key, and rekindle.columns.enabled is false")
    if not _key_type_fits(partitioner.key_type, draft, traced):
        raise NotTraceable("keys are converted to their key_type")
    return traced


def _key_type_fits(key_type: TypeInformation | None, draft: _Draft, traced: Any) -> bool:
    """Return whether a key type leaves keys as they are; the slots alone can convert them."""
    if key_type is None:
        return True
    if traced.shape.kind is not ShapeKind.VALUE or not isinstance(key_type, BasicTypeInfo):
        return False
    (expression,) = traced.fields
    place = getattr(expression, "place", None)
    kind = kind_of(expression, draft.kinds)
    if key_type.basic_type is BasicType.STRING:
        return kind is Kind.TEXT
    if place is not None and draft.nullable[place]:
        return False
    if key_type.basic_type is BasicType.INT:
        return place is not None and draft.narrow[place]
    return _KEY_TYPES.get(key_type.basic_type) is kind


def _add_map(draft: _Draft, transformation: MapTransformation, subtasks: int) -> None:
    with naming(transformation.function, "map"):
        traced = trace(traceable(transformation.function, "map"), record(draft.shape))
        kinds = [kind_of(expression, draft.kinds) for expression in traced.fields]
        if not kinds:
            raise NotTraceable("it returns empty tuples")
    places = [getattr(expression, "place", None) for expression in traced.fields]
    draft.steps.append(MapStep(traced.fields, traced.shape))
    draft.narrow = [place is not None and draft.narrow[place] for place in places]
    draft.nullable = [place is not None and draft.nullable[place] for place in places]
    draft.shape, draft.kinds = traced.shape, kinds


def _add_filter(draft: _Draft, transformation: FilterTransformation, subtasks: int) -> None:
    with naming(transformation.function, "filter"):
        traced = trace(traceable(transformation.function, "filter"), record(draft.shape))
        if traced.shape.kind is not ShapeKind.VALUE:
            raise NotTraceable("it does not return a truth value")
        truth_of(traced.fields[0], draft.kinds)
    draft.steps.append(FilterStep(traced.fields[0]))


def _add_timestamps(draft: _Draft, transformation: TimestampsAndWatermarksTransformation, subtasks: int) -> None:
    strategy = transformation.strategy
    if strategy.kind is WatermarkKind.GENERATOR:
        raise NotTraceable("its watermarks come from a generator of the program's own")
    if strategy.idle_timeout_ms is not None or strategy.alignment is not None:
        raise NotTraceable("its watermarks wait for no idle source, or for others")
    if strategy.timestamp_assigner is None or draft.timed:
        raise NotTraceable("it gives no timestamps of its own")
    with naming(strategy.timestamp_assigner, "extract_timestamp"):
        call = traceable(strategy.timestamp_assigner, "extract_timestamp")
        traced = trace(call, record(draft.shape), _NO_TIMESTAMP)
        if traced.shape.kind is not ShapeKind.VALUE or kind_of(traced.fields[0], draft.kinds) is not Kind.INT:
            raise NotTraceable("it returns timestamps that are no integers")
    draft.steps.append(TimestampStep(traced.fields[0]))
    draft.shares = 0 if strategy.kind is WatermarkKind.NONE else subtasks


_STEPS: dict[type, Callable[[_Draft, Any, int], None]] = {
    MapTransformation: _add_map,
    FilterTransformation: _add_filter,
    TimestampsAndWatermarksTransformation: _add_timestamps,
}
_BY_COLUMNS = frozenset({*_STEPS, ReduceTransformation, WindowTransformation, KeyedBatchTransformation})

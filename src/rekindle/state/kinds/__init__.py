"""The kinds of keyed state. Each is a file here and a line below."""

from rekindle.state.kinds.aggregating_kind import AggregatingKind
from rekindle.state.kinds.folding_kind import FoldingKind
from rekindle.state.kinds.list_kind import ListKind
from rekindle.state.kinds.map_kind import MapKind
from rekindle.state.kinds.reducing_kind import ReducingKind
from rekindle.state.kinds.state_kind import register
from rekindle.state.kinds.value_kind import ValueKind

register(ValueKind())
register(ListKind())
register(MapKind())
register(ReducingKind())
register(AggregatingKind())
register(FoldingKind())

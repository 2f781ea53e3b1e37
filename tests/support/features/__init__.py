"""Every feature of the API as a small stream over the same events, with its golden result computed another way."""

from __future__ import annotations

from support.features.connected_features import CONNECTED
from support.features.feature import Feature
from support.features.join_features import JOINS
from support.features.keyed_features import KEYED
from support.features.operator_features import OPERATORS
from support.features.source_features import SOURCES
from support.features.stream_features import STREAMS
from support.features.time_features import TIMES
from support.features.window_features import WINDOWS

FEATURES: dict[str, Feature] = {
    feature.name: feature
    for group in (KEYED, TIMES, WINDOWS, CONNECTED, JOINS, STREAMS, SOURCES, OPERATORS)
    for feature in group
}
"""All features, by name."""

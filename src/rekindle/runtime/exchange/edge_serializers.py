"""The serializers by which records and keys are converted on an edge."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rekindle.graph.job_graph import JobEdge
from rekindle.serialization.encodings.pickle_serializer import PickleSerializer
from rekindle.serialization.serializer_of import serializer_of
from rekindle.types.type_information import TypeInformation
from rekindle.types.type_serializer import TypeSerializer


@dataclass(frozen=True, slots=True)
class EdgeSerializers:
    """Hold the serializers of an edge; None where nothing is converted."""

    values: TypeSerializer[Any] | None = None
    keys: TypeSerializer[Any] | None = None

    @staticmethod
    def of(edges: Iterable[JobEdge]) -> list[EdgeSerializers]:
        """Make the serializers of all edges of a job, by their ids."""
        return [EdgeSerializers(_of(edge.type_info), _of(edge.partitioner.key_type)) for edge in edges]


UNTYPED = EdgeSerializers()


def _of(type_info: TypeInformation | None) -> TypeSerializer[Any] | None:
    serializer = None if type_info is None else serializer_of(type_info)
    return None if isinstance(serializer, PickleSerializer) else serializer

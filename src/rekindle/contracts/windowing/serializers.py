"""Serializers of windows: a few bytes each, by which state and timers of windows are written."""

from __future__ import annotations

from typing import Any

from rekindle.contracts.windowing.windows import CountWindow, GlobalWindow, TimeWindow
from rekindle.exceptions import SerializationError
from rekindle.serialization.scalars.scalar_serializer import ScalarSerializer, ScalarSerializerSnapshot

__all__ = ["CountWindowSerializer", "GlobalWindowSerializer", "TimeWindowSerializer"]


class TimeWindowSerializer(ScalarSerializer[TimeWindow]):
    """Serialize time windows as their start and end."""

    type_name = "TIME_WINDOW"
    packed_type = tuple[int, int]
    unpacks = True

    def pack(self, element: Any) -> tuple[int, int]:
        """Turn a window into start and end."""
        if type(element) is not TimeWindow:
            raise _refused(element, TimeWindow)
        return element[0], element[1]

    def unpack(self, packed: Any) -> TimeWindow:
        """Turn start and end into a window."""
        return TimeWindow(*packed)


class CountWindowSerializer(ScalarSerializer[CountWindow]):
    """Serialize count windows as their number."""

    type_name = "COUNT_WINDOW"
    packed_type = int
    unpacks = True

    def pack(self, element: Any) -> int:
        """Turn a window into its number."""
        if type(element) is not CountWindow:
            raise _refused(element, CountWindow)
        return element[0]

    def unpack(self, packed: Any) -> CountWindow:
        """Turn a number into the window."""
        return CountWindow(packed)


class GlobalWindowSerializer(ScalarSerializer[GlobalWindow]):
    """Serialize the global window: as nothing, which msgpack writes as one byte."""

    type_name = "GLOBAL_WINDOW"
    packed_type = type(None)
    unpacks = True

    def pack(self, element: Any) -> None:
        """Pack the window, which has no contents, as None."""
        if type(element) is not GlobalWindow:
            raise _refused(element, GlobalWindow)

    def unpack(self, packed: Any) -> GlobalWindow:
        """Return the window."""
        return GlobalWindow.get()


class TimeWindowSerializerSnapshot(ScalarSerializerSnapshot[TimeWindow], of=TimeWindowSerializer):
    """Remember that elements were time windows."""


class CountWindowSerializerSnapshot(ScalarSerializerSnapshot[CountWindow], of=CountWindowSerializer):
    """Remember that elements were count windows."""


class GlobalWindowSerializerSnapshot(ScalarSerializerSnapshot[GlobalWindow], of=GlobalWindowSerializer):
    """Remember that elements were the global window."""


def _refused(element: Any, wanted: type) -> SerializationError:
    return SerializationError(
        f"{element!r} ({type(element).__name__}) is not a {wanted.__name__}; let get_window_serializer() of the window "
        "assigner return the serializer of the windows that it assigns"
    )

"""What is the same for all streams cut into windows: which windows there are, when they fire, how long they stay."""

from __future__ import annotations

from typing import Any, Generic, Self

from rekindle.base.time import Duration, Time, duration_to_millis
from rekindle.base.type_variables import T_co, W
from rekindle.contracts.output_tag import OutputTag
from rekindle.contracts.windowing.assigner import MergingWindowAssigner, WindowAssigner
from rekindle.contracts.windowing.evictors import Evictor
from rekindle.contracts.windowing.trigger import Trigger
from rekindle.contracts.wrong_arguments import Unfinished, with_article, wrong_kind
from rekindle.exceptions import ConfigurationError, InvalidProgramError
from rekindle.graph.transformations.windows import WindowContents, Windowing
from rekindle.types.type_information import TypeInformation

TimeAmount = Time | Duration | int
"""What says how long something takes; an int is a number of milliseconds."""


class WindowSettings(Unfinished, Generic[T_co, W]):
    """Collect how windows are made and evaluated."""

    def __init__(self, window_assigner: WindowAssigner[T_co, W]) -> None:
        self._assigner: WindowAssigner[Any, Any] = require_instance(window_assigner, WindowAssigner, "window")
        self._trigger: Trigger[Any, Any] | None = None
        self._evictor: Evictor[Any, Any] | None = None
        self._lateness = 0
        self._late_tag: OutputTag | None = None

    def trigger(self, trigger: Trigger[T_co, W]) -> Self:
        """Set when windows fire, instead of the assigner's own trigger."""
        given: Trigger[Any, Any] = require_instance(trigger, Trigger, "trigger")
        if isinstance(self._assigner, MergingWindowAssigner) and not given.can_merge():
            raise InvalidProgramError(
                f"{type(given).__name__} cannot be used with {self._assigner!r}, whose windows merge: its can_merge() "
                "is False"
            )
        self._trigger = given
        return self

    def evictor(self, evictor: Evictor[T_co, W]) -> Self:
        """Set what drops elements of windows that fire. All elements are kept until then, also with reduce."""
        self._evictor = require_instance(evictor, Evictor, "evictor")
        return self

    def allowed_lateness(self, time_ms: TimeAmount) -> Self:
        """Keep windows in event time after their end, so that late elements still count.

        Args:
            time_ms: For how long; elements that come later still are dropped, or go to a side output.
        """
        lateness = duration_to_millis(time_ms, "time_ms")
        if lateness < 0:
            raise ConfigurationError(f"the allowed lateness must not be negative, got {lateness} ms")
        self._lateness = lateness
        return self

    def _elements(self, type_info: TypeInformation | None) -> WindowContents:
        """Return contents that keep all elements, of a type."""
        return WindowContents(type_info, evictor=self._evictor)

    def _windowing(self, contents: WindowContents, environment: Any) -> Windowing:
        trigger = self._trigger or self._assigner.get_default_trigger(environment)
        return Windowing(self._assigner, trigger, contents, self._lateness, self._late_tag)


def require_instance(given: Any, kind: type, method: str) -> Any:
    """Take an instance of a class, and nothing else."""
    if not isinstance(given, kind):
        raise wrong_kind(method, with_article(kind.__name__), given, kind)
    return given

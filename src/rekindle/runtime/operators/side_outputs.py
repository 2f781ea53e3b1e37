"""Side outputs: what a function yields with an OutputTag leaves its operator apart from the other results.

Results are gathered in one list, with a :class:`SideOutput` in the place of each tagged one, and sorted out once for a
chunk: records without tags pay for one look at the types of the list.
"""

from __future__ import annotations

from typing import Any

from rekindle.contracts.output_tag import OutputTag
from rekindle.exceptions import InvalidCallError
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.result_copies import FIXED, copied, unshared


class SideOutput:
    """Hold a result for a side output until its chunk is complete."""

    __slots__ = ("tag_id", "value")

    def __init__(self, tag_id: str, value: Any) -> None:
        self.tag_id = tag_id
        self.value = value


def emitted(value: Any) -> Any:
    """Return a result of a function that may have side outputs, so that user code cannot change it any more.

    As with ``unshared``, call it with a local variable that holds the only other reference the caller has.
    """
    if type(value) in FIXED:
        return value
    if isinstance(value, tuple):
        for part in value:
            if type(part) not in FIXED:
                break
        else:
            return value
    if isinstance(value, tuple) and isinstance(value[0], OutputTag):
        if len(value) != 2:
            raise InvalidCallError(
                f"{len(value)} values were yielded for side output {value[0].tag_id!r}, the tag among them: yield the "
                "tag and one value, such as a tuple of all of them"
            )
        return SideOutput(value[0].tag_id, unshared(value[1]))
    return copied(value)


def sorted_out(values: list[Any], timestamps: list[int | None] | None = None) -> Chunk:
    """Make a chunk of results, with those of side outputs apart."""
    if SideOutput not in set(map(type, values)):
        return Chunk(values, timestamps)
    main = Chunk([], None if timestamps is None else [])
    main.side = {}
    for position, value in enumerate(values):
        part = main
        if type(value) is SideOutput:
            if value.tag_id not in main.side:
                main.side[value.tag_id] = Chunk([], None if timestamps is None else [])
            part = main.side[value.tag_id]
            value = value.value
        part.values.append(value)
        if timestamps is not None and part.timestamps is not None:
            part.timestamps.append(timestamps[position])
    return main

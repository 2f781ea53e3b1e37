"""DataStreamSink: the end of a stream, which can be named and given settings of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rekindle.datastream.operator_settings import check_slot_sharing_group, checked_uid_hash
from rekindle.exceptions import InvalidProgramError
from rekindle.graph.stream_graph import Chaining, StreamNode

if TYPE_CHECKING:
    from rekindle.datastream.slot_sharing_group import SlotSharingGroup

__all__ = ["DataStreamSink"]


class DataStreamSink:
    """The end of a stream."""

    def __init__(self, node: StreamNode) -> None:
        self._node = node

    def name(self, name: str) -> DataStreamSink:
        """Name the sink, for people."""
        self._node.name = name
        return self

    def uid(self, uid: str) -> DataStreamSink:
        """Set the identity of the sink, by which its state is found again when the program has changed."""
        self._node.uid = uid
        return self

    def set_uid_hash(self, uid_hash: str) -> DataStreamSink:
        """Set the uid that was derived for the sink before, 32 hexadecimal digits, to find its state again."""
        self._node.uid = checked_uid_hash(uid_hash)
        return self

    def set_description(self, description: str) -> DataStreamSink:
        """Describe the sink: the execution plan shows it instead of the name."""
        self._node.description = description
        return self

    def disable_chaining(self) -> DataStreamSink:
        """Chain the sink with no operator: records come as their type shows them."""
        self._node.chaining = Chaining.NEVER
        return self

    def slot_sharing_group(self, slot_sharing_group: str | SlotSharingGroup) -> DataStreamSink:
        """Accept the name of a group of operators; all operators with one subtask index share a slot anyway."""
        check_slot_sharing_group(slot_sharing_group)
        return self

    def set_parallelism(self, parallelism: int) -> DataStreamSink:
        """Set the number of subtasks of the sink."""
        if parallelism < 1:
            raise InvalidProgramError(
                f"the parallelism of {self._node.name!r} must be at least 1, and {parallelism} was given"
            )
        self._node.parallelism = parallelism
        return self

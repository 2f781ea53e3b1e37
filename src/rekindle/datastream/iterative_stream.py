"""IterativeStream: the beginning of a loop, closed with the stream that is fed back."""

from __future__ import annotations

from typing import Any

from rekindle.base.type_variables import T2, T1_co, T2_co, T_co
from rekindle.contracts.declared_types import declared_type
from rekindle.datastream.connected_streams import ConnectedStreams
from rekindle.datastream.data_stream import DataStream
from rekindle.exceptions import InvalidProgramError
from rekindle.graph.partitioning import FORWARD, Partitioning
from rekindle.graph.stream_graph import Part, StreamEdge, StreamNode, ancestors
from rekindle.graph.transformations.loops import (
    FEEDBACK,
    IterationHeadTransformation,
    IterationTailTransformation,
    Loop,
    TerminationCriterionTransformation,
)
from rekindle.graph.transformations.one_input import PassTransformation
from rekindle.types.annotations import TypeOf
from rekindle.types.typeinfo import TypeInformation, Types

__all__ = ["ConnectedIterativeStreams", "IterativeStream"]


class IterativeStream(DataStream[T_co]):
    """The records of a stream, and those that are fed back to it.

    The operators between this stream and the one that closes the loop are the loop's. In a loop without rounds each
    record goes round on its own, and comes back in the next epoch.
    """

    _loop: Loop

    @classmethod
    def begin(cls, stream: DataStream[T_co], max_wait_ms: int, max_iterations: int | None) -> IterativeStream[T_co]:
        """Add the head of a loop behind a stream."""
        if max_wait_ms < 0:
            raise ValueError(f"max_wait_ms must not be negative, and {max_wait_ms} was given")
        if max_iterations is not None and max_iterations < 1:
            raise ValueError(f"max_iterations must be at least 1, and {max_iterations} was given")
        loop = Loop(max_iterations, supersteps=max_iterations is not None)
        node = stream._environment._graph.add("Iteration", IterationHeadTransformation(loop), stream._inputs)
        edge = StreamEdge(node.id, FORWARD, stream._type_info)
        iterative = cls(stream._environment, (edge,), node, stream._type_info, stream._hint)
        iterative._loop = loop
        return iterative

    def close_with(
        self, feedback_stream: DataStream[T_co], termination_criterion: DataStream[Any] | None = None
    ) -> DataStream[T_co]:
        """Feed a stream back to the beginning of the loop.

        A loop without rounds may be closed with several streams, one after the other.

        Args:
            feedback_stream: A stream of this loop, of the type of its input.
            termination_criterion: Another stream of this loop. The loop runs in rounds, and no other round follows one
                in which this stream was empty.

        Returns:
            ``feedback_stream``; if the loop runs in rounds, the stream of what was fed back in the last one.
        """
        if self._loop.apart:
            raise InvalidProgramError(
                f"iteration {self._head().name!r} has feedback of a type of its own: call close_with on what "
                "with_feedback_type returned"
            )
        return self._close(feedback_stream, self._type_info, termination_criterion)

    def with_feedback_type(self, feedback_type: TypeOf[T2] | None) -> ConnectedIterativeStreams[T_co, T2]:
        """Keep what is fed back, of a type of its own, apart from the input: a function with two inputs reads both.

        Args:
            feedback_type: The type of what is fed back; None: any Python object.
        """
        if self._feeds_back() or any(edge.source == self._head().id for edge in self._all_edges()):
            raise InvalidProgramError(
                f"with_feedback_type must be called on iteration {self._head().name!r} before anything else reads it"
            )
        self._loop.apart = True
        return ConnectedIterativeStreams(self, declared_type(feedback_type, "feedback_type of with_feedback_type"))

    # --- inside ---

    def _head(self) -> StreamNode:
        return self._own_node("iterate")

    def _all_edges(self) -> list[StreamEdge]:
        return [edge for node in self._environment._graph.nodes for edge in node.inputs]

    def _feeds_back(self) -> bool:
        return any(node.loop_of == self._head().id for node in self._environment._graph.nodes)

    def _close(
        self, feedback: DataStream[Any], type_info: TypeInformation | None, criterion: DataStream[Any] | None
    ) -> DataStream[Any]:
        for stream, what in ((feedback, "feedback_stream"), (criterion, "termination_criterion")):
            if stream is not None:
                self._check_own(stream, what)
        expected = Types.PICKLED_BYTE_ARRAY() if type_info is None else type_info
        if feedback.get_type() != expected:
            raise InvalidProgramError(
                f"iteration {self._head().name!r} takes feedback of {expected}, and close_with was given a stream of "
                f"{feedback.get_type()}; give the operator before it that output_type, or the iteration another "
                "with_feedback_type"
            )
        if self._feeds_back() and (self._loop.supersteps or criterion is not None):
            raise InvalidProgramError(
                f"iteration {self._head().name!r} runs in rounds and is closed already; unite the streams that are to "
                "be fed back, and close it with the union"
            )
        if criterion is not None:
            self._loop.supersteps = self._loop.has_criterion = True
            self._end(Part.CRITERION, TerminationCriterionTransformation(self._loop), criterion)
        tail = self._end(Part.FEEDBACK, IterationTailTransformation(self._loop), feedback)
        if not self._loop.supersteps:
            return feedback
        edge = StreamEdge(tail.id, FORWARD, type_info)
        last_round = DataStream(self._environment, (edge,), None, type_info, feedback._hint)
        return last_round._transform("Iteration Result", PassTransformation(), type_info, feedback._hint)

    def _end(
        self,
        part: Part,
        transformation: IterationTailTransformation | TerminationCriterionTransformation,
        stream: DataStream,
    ) -> StreamNode:
        head = self._head()
        graph = self._environment._graph
        return graph.add_part(head, part, transformation, stream._inputs, typed_input=True, loop_of=head.id)

    def _check_own(self, stream: DataStream, what: str) -> None:
        if not isinstance(stream, DataStream):
            raise TypeError(f"close_with takes a DataStream as {what}, and was given a {type(stream).__name__}")
        head = self._head()
        nodes = self._environment._graph.nodes
        own = stream._environment is self._environment
        if not own or head.id not in ancestors(nodes, {edge.source for edge in stream._inputs}):
            raise InvalidProgramError(
                f"Cannot close an iteration with a feedback DataStream that does not originate from said iteration: "
                f"{what} is not made of the records of iteration {head.name!r}"
            )
        if any(edge.partitioner.kind is Partitioning.HASH for edge in stream._inputs):
            raise InvalidProgramError(
                f"{what} of iteration {head.name!r} is a keyed stream, and a loop has no keys of its own; close it "
                "with the stream before key_by, and call key_by behind iterate()"
            )


class ConnectedIterativeStreams(ConnectedStreams[T1_co, T2_co]):
    """The input of a loop, and what is fed back to it, as two streams that one function reads."""

    def __init__(self, iteration: IterativeStream[T1_co], feedback_type: TypeInformation | None) -> None:
        edge = StreamEdge(iteration._own_node("with_feedback_type").id, FORWARD, feedback_type, FEEDBACK)
        fed_back: DataStream[T2_co] = DataStream(iteration._environment, (edge,), None, feedback_type)
        super().__init__(iteration, fed_back)
        self._iteration = iteration
        self._feedback_type = feedback_type

    def close_with(
        self, feedback_stream: DataStream[T2_co], termination_criterion: DataStream[Any] | None = None
    ) -> DataStream[T2_co]:
        """Feed a stream back to the second input of the loop.

        Args:
            feedback_stream: A stream of this loop, of the type of its feedback.
            termination_criterion: Another stream of this loop. The loop runs in rounds, and no other round follows one
                in which this stream was empty.

        Returns:
            ``feedback_stream``; if the loop runs in rounds, the stream of what was fed back in the last one.
        """
        return self._iteration._close(feedback_stream, self._feedback_type, termination_criterion)

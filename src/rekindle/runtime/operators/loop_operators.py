"""The operators of an iteration: a head that sends feedback round again, tails that take it, a termination criterion.

Head and tail of one subtask live in the same slot and share a :class:`FeedbackLoop`. So records go round once per
epoch, and between two epochs everything that is in a loop waits there: it is part of every snapshot.
"""

from __future__ import annotations

import msgspec

from rekindle.graph.transformations.loops import FEEDBACK, Loop
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.iteration_phase import IterationPhase
from rekindle.runtime.operators.operator import MAX_WATERMARK, MIN_WATERMARK, Operator
from rekindle.runtime.operators.operator_context import OperatorContext
from rekindle.runtime.operators.roles import OperatorStateOwner, RecordKeeper
from rekindle.serialization.encodings.pickle_serializer import PickleSerializer
from rekindle.state.operator_state.stored import DistributionMode, StoredList


class FeedbackLoop:
    """Hold what the operators of one loop share in a slot.

    Attributes:
        supersteps: Whether all of a round is done before the next one begins.
        apart: Whether feedback leaves the head by a tag rather than with the input.
        phase: What the loop may do in this epoch.
        round: The round that runs, or ran last; 0 before the first.
        input: What waits for the first round.
        fed_back: What waits for the next round.
        criterion: How many records the termination criterion has got in this round.
    """

    def __init__(self, loop: Loop) -> None:
        self.supersteps = loop.supersteps
        self.apart = loop.apart
        self.phase: IterationPhase | None = None
        self.round = 0
        self.input: list[Chunk] = []
        self.fed_back: list[Chunk] = []
        self.criterion = 0

    def begin(self, phase: IterationPhase, number: int) -> None:
        """Take the job master's word for what to do in an epoch."""
        self.phase = phase
        if phase is IterationPhase.RUN and self.supersteps:
            self.round = number
            self.criterion = 0

    def waiting(self) -> int:
        """Count the records that wait for the next round."""
        return sum(len(chunk.values) for chunk in self.fed_back)

    def input_progress(self, watermark: int, ended: bool) -> tuple[int, bool]:
        """Turn the watermark of the head's inputs, and whether they have ended, into what holds for the head.

        The end is held back until the loop is over. In supersteps, the number of the round is the time.
        """
        match self.phase:
            case IterationPhase.OVER:
                return MAX_WATERMARK, ended
            case IterationPhase.DRAIN:
                return MAX_WATERMARK, False
            case IterationPhase.RUN if self.supersteps:
                return self.round, False
        held = self.supersteps or watermark == MAX_WATERMARK
        return MIN_WATERMARK if held else watermark, False


class IterationHeadOperator(RecordKeeper, OperatorStateOwner):
    """Pass on the input, and what was fed back in the epoch before."""

    def __init__(self, loop: FeedbackLoop) -> None:
        self.loop = loop

    def open(self, context: OperatorContext) -> None:
        loop = self.loop
        loop.input = _chunks(context.restored.items("input"))
        loop.fed_back = _chunks(context.restored.items("feedback"))
        rounds = [
            msgspec.msgpack.decode(item, type=tuple[int, int]) for item in context.restored.items("rounds")
        ]  # those of all subtasks
        loop.round = max((number for number, _ in rounds), default=0)
        loop.criterion = sum(count for _, count in rounds)

    def process(self, chunk: Chunk) -> Chunk | None:
        chunk = Chunk(chunk.values, chunk.timestamps)
        if not self.loop.supersteps:
            return chunk
        self.loop.input.append(chunk)
        return None

    def waiting(self) -> list[Chunk]:
        loop = self.loop
        if loop.phase in (IterationPhase.HOLD, IterationPhase.OVER) or (loop.supersteps and loop.phase is None):
            return []
        given, loop.input = loop.input, []
        fed_back, loop.fed_back = loop.fed_back, []
        if loop.supersteps:
            given, fed_back = ([_in_round(chunk, loop.round) for chunk in chunks] for chunks in (given, fed_back))
        if loop.apart:
            fed_back = [_tagged(chunk) for chunk in fed_back]
        return given + fed_back

    def snapshot_lists(self) -> dict[str, StoredList]:
        loop = self.loop
        return {
            "input": StoredList.of(DistributionMode.SPLIT, _items(loop.input)),
            "feedback": StoredList.of(DistributionMode.SPLIT, _items(loop.fed_back)),
            "rounds": StoredList.of(
                DistributionMode.UNION,
                [msgspec.msgpack.encode((loop.round, loop.criterion))] if loop.supersteps else [],
            ),
        }

    def read_lists_back(self, lists: dict[str, StoredList]) -> None:
        for name in ("input", "feedback"):
            _chunks(lists[name].items if name in lists else [])


class IterationTailOperator(RecordKeeper):
    """Take what is fed back; when the rounds are over, pass on what the last one gave."""

    def __init__(self, loop: FeedbackLoop) -> None:
        self.loop = loop

    def process(self, chunk: Chunk) -> None:
        if self.loop.phase is not IterationPhase.OVER:  # nothing goes round after the end
            self.loop.fed_back.append(Chunk(chunk.values, chunk.timestamps))

    def waiting(self) -> list[Chunk]:
        if self.loop.phase is not IterationPhase.OVER:
            return []
        result, self.loop.fed_back = self.loop.fed_back, []
        return result


class TerminationCriterionOperator(Operator):
    """Count the records of the stream that tells whether another round is needed."""

    def __init__(self, loop: FeedbackLoop) -> None:
        self.loop = loop

    def process(self, chunk: Chunk) -> None:
        self.loop.criterion += len(chunk.values)


def _in_round(chunk: Chunk, number: int) -> Chunk:
    return Chunk(chunk.values, [number] * len(chunk.values))


def _tagged(chunk: Chunk) -> Chunk:
    tagged = Chunk([])
    tagged.side = {FEEDBACK: chunk}
    return tagged


def _items(chunks: list[Chunk]) -> list[bytes]:
    """Pickle records one by one, so that they can be dealt out to any number of subtasks."""
    to_bytes = PickleSerializer().to_bytes
    return [
        to_bytes(record)
        for chunk in chunks
        for record in zip(chunk.values, chunk.timestamps or [None] * len(chunk.values), strict=True)
    ]


def _chunks(items: list[bytes]) -> list[Chunk]:
    if not items:
        return []
    from_bytes = PickleSerializer().from_bytes
    values, timestamps = zip(*map(from_bytes, items), strict=True)
    stamped = any(timestamp is not None for timestamp in timestamps)
    return [Chunk(list(values), list(timestamps) if stamped else None)]

"""Writes with a GenericWriteAheadSink: the records themselves are the committables of a two-phase sink."""

from __future__ import annotations

import copy
from contextlib import ExitStack
from typing import Any

import msgspec

from rekindle.contracts.connectors import SinkWriter
from rekindle.contracts.functions import CheckpointCommitter, GenericWriteAheadSink
from rekindle.exceptions import OutputLostError
from rekindle.runtime.operators.committing.stored_values import StoredValues, ValueCodec


class _Batch(msgspec.Struct, frozen=True):
    """The records of one subtask up to a checkpoint.

    Attributes:
        job_id: The job that took the checkpoint.
        subtask: Who got the records.
        checkpoint_id: The checkpoint.
        timestamp: When it was triggered, in milliseconds since the epoch.
        values: The records.
    """

    job_id: str
    subtask: int
    checkpoint_id: int
    timestamp: int
    values: StoredValues


class WriteAheadWriter(SinkWriter):
    """Take one subtask of a GenericWriteAheadSink from checkpoint to checkpoint. The sink is open.

    Attributes:
        timestamp: When the checkpoint was triggered that is prepared next.
    """

    def __init__(
        self, sink: GenericWriteAheadSink, subtask: int, job_id: str, operator_id: str, codec: ValueCodec
    ) -> None:
        """Take over a sink, and open its committer.

        Args:
            sink: The sink.
            subtask: Which subtask this is.
            job_id: The job.
            operator_id: The sink's uid.
            codec: Writes and reads its records.
        """
        self.timestamp = 0
        self._sink = sink
        self._subtask = subtask
        self._job_id = job_id
        self._operator_id = operator_id
        self._codec = codec
        self._values: list[Any] = []
        self._refused: list[bytes] = []
        self._last_id = 0
        self._ended = False
        self._unopened = copy.deepcopy(sink.committer)
        self._committers: dict[str, CheckpointCommitter] = {}
        self._open(sink.committer, job_id)

    def write(self, values: list[Any], timestamps: list[int | None] | None) -> None:
        self._values += values

    def prepare_commit(self, checkpoint_id: int) -> list[bytes]:
        # The end of a job without checkpoints has number 0, which a committer would take for an old one.
        self._last_id = checkpoint_id = checkpoint_id or self._last_id + 1
        batches = list(self._refused)
        if self._values:
            values = self._codec.encode(self._values)
            batch = _Batch(self._job_id, self._subtask, checkpoint_id, self.timestamp, values)
            batches.append(msgspec.msgpack.encode(batch))
        self._values, self._refused = [], []
        return batches

    def commit(self, committables: list[bytes]) -> None:
        waiting = [*self._refused, *committables]
        self._refused = []
        for index, committable in enumerate(waiting):
            batch = msgspec.msgpack.decode(committable, type=_Batch)
            if not self._send(batch):
                if self._ended:
                    raise OutputLostError(
                        f"{type(self._sink).__name__}.send_values refused the records of checkpoint "
                        f"{batch.checkpoint_id}, and as all input has ended, no later checkpoint would send them again"
                    )
                self._refused = waiting[index:]
                return

    def abort_leftovers(self) -> None:
        """Remove nothing: what was not sent was only in memory, or in checkpoints."""

    def end_input(self) -> None:
        """Remember that no checkpoint comes after the last one."""
        self._ended = True

    def close(self) -> None:
        with ExitStack() as closing:  # one that raises keeps no other from being closed
            closing.callback(self._sink.close)
            for committer in self._committers.values():
                closing.callback(committer.close)

    def _send(self, batch: _Batch) -> bool:
        committer = self._committers.get(batch.job_id)
        if committer is None:
            committer = self._open(copy.deepcopy(self._unopened), batch.job_id)
        if committer.is_checkpoint_committed(batch.subtask, batch.checkpoint_id):
            return True
        values = self._codec.decode(batch.values)
        if not self._sink.send_values(values, batch.checkpoint_id, batch.timestamp):
            return False
        committer.commit_checkpoint(batch.subtask, batch.checkpoint_id)
        return True

    def _open(self, committer: CheckpointCommitter, job_id: str) -> CheckpointCommitter:
        committer.set_job_id(job_id)
        committer.set_operator_id(self._operator_id)
        committer.create_resource()
        committer.open()
        self._committers[job_id] = committer
        return committer

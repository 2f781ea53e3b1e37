"""Writes with a TwoPhaseCommitSinkFunction: its transactions are the committables of a two-phase sink.

A committable holds the pre-committed transaction, and the one that began behind it: the last of these is current in the
checkpoint, and is aborted by whoever restores it.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import msgspec

from rekindle.base.clock import Clock
from rekindle.contracts.connectors import SinkWriter
from rekindle.contracts.functions import TwoPhaseCommitSinkFunction
from rekindle.runtime.at_work import at_record
from rekindle.runtime.operators.committing.stored_values import StoredValues, ValueCodec
from rekindle.runtime.operators.sinks import SinkContext
from rekindle.state.state_evolution import StateName

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Transaction:
    """A transaction in the attempt that began it, and when that was."""

    handle: Any
    begun: int


class _Prepared(msgspec.Struct, frozen=True):
    """What a checkpoint keeps of a pre-committed transaction.

    Attributes:
        subtask: Who wrote it.
        sequence: The how manieth of that writer it is.
        begun: When it began, in milliseconds since the epoch.
        transactions: The transaction, and the one that began behind it.
        context: The user context, if there is one.
    """

    subtask: int
    sequence: int
    begun: int
    transactions: StoredValues
    context: StoredValues | None


class TransactionWriter(SinkWriter):
    """Take one subtask of a TwoPhaseCommitSinkFunction through its transactions. The function is open."""

    def __init__(
        self,
        function: TwoPhaseCommitSinkFunction[Any],
        subtask: int,
        clock: Clock,
        context: SinkContext,
        operator: tuple[str, str],
    ) -> None:
        """Take over a function.

        Args:
            function: The function.
            subtask: Which subtask this is.
            clock: The time.
            context: What ``invoke`` is given.
            operator: Name and uid of the operator, for messages.
        """
        self._function = function
        self._subtask = subtask
        self._clock = clock
        self._context = context
        self._transactions = ValueCodec(function.transaction_type, StateName(*operator, "transactions"))
        self._contexts = ValueCodec(function.context_type, StateName(*operator, "user context"))
        self._recovered: dict[int, list[_Prepared]] | None = defaultdict(list)  # by subtask; None: recovery is over
        self._current: _Transaction | None = None
        self._precommitted: list[_Transaction] = []  # in no committable yet
        self._committables: dict[bytes, _Transaction] = {}  # of this attempt
        self._sequence = 0
        self._ended = False

    @at_record("value", timestamp="context.current_timestamp")
    def write(self, values: list[Any], timestamps: list[int | None] | None) -> None:
        transaction, invoke, context = self._begun().handle, self._function.invoke, self._context
        if timestamps is None:
            context.current_timestamp = None
            for value in values:
                invoke(transaction, value, context)
        else:
            for value, context.current_timestamp in zip(values, timestamps, strict=True):
                invoke(transaction, value, context)

    def prepare_commit(self, checkpoint_id: int) -> list[bytes]:
        current = self._begun()
        self._function.pre_commit(current.handle)
        self._precommitted.append(current)
        self._current = None
        following = [*self._precommitted[1:], self._begun()]
        user_context = self._function.get_user_context()
        context = None if user_context is None else self._contexts.encode([user_context])
        prepared = {
            msgspec.msgpack.encode(
                _Prepared(
                    self._subtask,
                    self._sequence + index,
                    transaction.begun,
                    self._transactions.encode([transaction.handle, after.handle]),
                    context,
                )
            ): transaction
            for index, (transaction, after) in enumerate(zip(self._precommitted, following, strict=True))
        }
        self._sequence += len(prepared)
        self._precommitted = []
        self._committables |= prepared
        return list(prepared)

    def commit(self, committables: list[bytes]) -> None:
        for committable in committables:
            own = self._committables.get(committable)
            if own is not None:
                self._warn_of_timeout(own.begun)
                self._function.commit(own.handle)
                del self._committables[committable]
            else:
                self._recover(msgspec.msgpack.decode(committable, type=_Prepared))

    def abort_leftovers(self) -> None:
        recovered = self._recovered or {}
        self._recovered = None
        function = self._function
        for prepared in recovered.values():
            last = max(prepared, key=lambda p: p.sequence)
            current = self._transactions.decode(last.transactions)[1]
            function.recover_and_abort(current)
            if last.context is not None:
                function.set_user_context(self._contexts.decode(last.context)[0])
                handled = [self._transactions.decode(p.transactions)[0] for p in prepared]
                function.finish_recovering_context([*handled, current])
        if function.get_user_context() is None:
            function.set_user_context(function.initialize_user_context())
        self._begun()

    def end_input(self) -> None:
        """Let the function flush, once: all input has ended."""
        if not self._ended:
            self._ended = True
            self._function.finish_processing(self._begun().handle)
            self._function.finish()

    def close(self) -> None:
        current, self._current = self._current, None
        try:
            if current is not None:
                self._function.abort(current.handle)
        finally:
            self._function.close()

    def _begun(self) -> _Transaction:
        """Return the current transaction; there is none yet if beginning it has failed before."""
        if self._current is None:
            begun = self._clock.now()
            self._current = _Transaction(self._function.begin_transaction(), begun)
        return self._current

    def _recover(self, prepared: _Prepared) -> None:
        function = self._function
        transaction = self._transactions.decode(prepared.transactions)[0]
        try:
            self._warn_of_timeout(prepared.begun)
            function.recover_and_commit(transaction)
        except Exception as error:
            timeout = function.transaction_timeout
            age = self._clock.now() - prepared.begun
            if not function.ignores_failures_after_timeout or timeout is None or age <= timeout:
                raise
            log.error(
                "transaction %r of subtask %d could not be committed, %d ms after it began, and its timeout is %d ms: "
                "its records are lost, as ignore_failures_after_transaction_timeout says: %r",
                *(transaction, prepared.subtask, age, timeout, error),
            )
        if self._recovered is not None:
            self._recovered[prepared.subtask].append(prepared)

    def _warn_of_timeout(self, begun: int) -> None:
        timeout, ratio = self._function.transaction_timeout, self._function.timeout_warning_ratio
        age = self._clock.now() - begun
        if timeout is not None and ratio is not None and age > timeout * ratio:
            log.warning(
                "a transaction is committed %d ms after it began, and the other system ends it after %d ms: take "
                "checkpoints more often, or raise the timeout",
                *(age, timeout),
            )

"""A sink function that writes in transactions of the system it writes to: one from each barrier to the next."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Generic

from rekindle.base.type_variables import CONTEXT, IN, TXN
from rekindle.contracts.functions.rich_function import RichFunction
from rekindle.contracts.functions.sink_function import SinkFunction
from rekindle.exceptions import InvalidArgumentError

if TYPE_CHECKING:
    from rekindle.types.type_information import TypeInformation

__all__ = ["TwoPhaseCommitSinkFunction"]


class TwoPhaseCommitSinkFunction(RichFunction, SinkFunction[IN], Generic[IN, TXN, CONTEXT]):
    """Write in transactions that become visible when the checkpoint that holds them is complete, for ``add_sink``.

    At each barrier the current transaction is pre-committed and the next one begins; both are part of the checkpoint.
    When it is complete, everything pre-committed up to it is committed. After a failure, the pre-committed transactions
    of the restored checkpoint are committed, perhaps not for the first time, and the one that was current in it is
    aborted.

    A transaction is whatever :meth:`begin_transaction` returns: often the name under which the other system knows it.
    In the attempt that began it, the methods get that very object; after a restore they get what was stored. ``open``
    comes before all of them.

    Attributes:
        transaction_type: The type of transactions in checkpoints; None: they are pickled.
        context_type: The type of the user context in checkpoints; None: it is pickled.
        transaction_timeout: After how many milliseconds the other system ends a transaction by itself; None: never.
        ignores_failures_after_timeout: Whether a restored transaction that is older may fail to commit.
        timeout_warning_ratio: Which part of the timeout a transaction may take before a warning; None: any.
    """

    transaction_type: TypeInformation | None = None
    context_type: TypeInformation | None = None
    transaction_timeout: int | None = None
    ignores_failures_after_timeout: bool = False
    timeout_warning_ratio: float | None = None
    __user_context: Any = None

    def __init__(
        self, transaction_type: TypeInformation | None = None, context_type: TypeInformation | None = None
    ) -> None:
        """Describe the sink.

        Args:
            transaction_type: The type of transactions; None: they are pickled.
            context_type: The type of the user context; None: it is pickled.
        """
        self.transaction_type = transaction_type
        self.context_type = context_type

    # --- what a sink implements ---

    @abstractmethod
    def begin_transaction(self) -> TXN:
        """Begin a transaction and return it, or return None if records need none of their own."""

    @abstractmethod
    def invoke(self, transaction: TXN, value: IN, context: SinkFunction.Context) -> None:  # type: ignore[override]
        """Write one element within a transaction; nobody outside may see it yet.

        Args:
            transaction: TXNhe current transaction.
            value: The element.
            context: Its timestamp and the current times; not to be kept.
        """

    @abstractmethod
    def pre_commit(self, transaction: TXN) -> None:
        """Make a transaction durable, at the barrier: from here on it must be possible to commit it, crash or not.

        If it raises, and the job tolerates failed checkpoints, it is called again at the next barrier for the same
        transaction, which goes on until then.
        """

    @abstractmethod
    def commit(self, transaction: TXN) -> None:
        """Make a pre-committed transaction visible. If it raises, the job goes back to the checkpoint, to try again."""

    @abstractmethod
    def abort(self, transaction: TXN) -> None:
        """Discard a transaction that was not pre-committed."""

    def recover_and_commit(self, transaction: TXN) -> None:
        """Commit a transaction of the restored checkpoint; it may have been committed already. Commits by default."""
        self.commit(transaction)

    def recover_and_abort(self, transaction: TXN) -> None:
        """Abort the transaction that was current in the restored checkpoint; it may be gone. Aborts by default.

        Not known here are transactions that were begun after it: at later barriers, of checkpoints that never
        completed. The other system has to time them out, or :meth:`finish_recovering_context` finds them.
        """
        self.abort(transaction)

    def finish_processing(self, transaction: TXN) -> None:
        """Flush what is still held back: all input has ended, and the last pre-commit follows."""

    # --- the user context ---

    def initialize_user_context(self) -> CONTEXT | None:
        """Return what every checkpoint is to keep besides transactions, such as a pool of their names; None: nothing.

        Called at the first start; after a restore the context comes from the checkpoint.
        """
        return None

    def finish_recovering_context(self, handled_transactions: list[TXN]) -> None:
        """Clean up with the restored context, after its transactions were committed and aborted.

        Args:
            handled_transactions: Those of the checkpoint; all others that the context knows of are leftovers.
        """

    def get_user_context(self) -> CONTEXT | Any:
        """Return the user context, None if there is none."""
        return self.__user_context

    def set_user_context(self, user_context: CONTEXT | None) -> None:
        """Set the user context; called by the system."""
        self.__user_context = user_context

    # --- timeouts ---

    def set_transaction_timeout(self, transaction_timeout: int) -> TwoPhaseCommitSinkFunction[IN, TXN, CONTEXT]:
        """Say after how many milliseconds the other system ends a transaction that nobody commits."""
        if transaction_timeout < 0:
            raise InvalidArgumentError(f"a transaction timeout cannot be negative: {transaction_timeout}")
        self.transaction_timeout = transaction_timeout
        return self

    def ignore_failures_after_transaction_timeout(self) -> TwoPhaseCommitSinkFunction[IN, TXN, CONTEXT]:
        """Log, rather than raise, what :meth:`recover_and_commit` raises for transactions older than the timeout.

        Their records are lost; without it, the job could never start again from that checkpoint.
        """
        self.ignores_failures_after_timeout = True
        return self

    def enable_transaction_timeout_warnings(self, warning_ratio: float) -> TwoPhaseCommitSinkFunction[IN, TXN, CONTEXT]:
        """Log a warning when a transaction took more than this part of the timeout until its commit."""
        if not 0 <= warning_ratio <= 1:
            raise InvalidArgumentError(f"a warning ratio must be from 0 to 1, and {warning_ratio} was given")
        self.timeout_warning_ratio = warning_ratio
        return self

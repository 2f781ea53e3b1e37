"""Every error Rekindle raises on purpose, in one tree.

RekindleError
├── ConfigurationError          a setting that cannot work (key and value are named)
├── UnavailableModuleError      a module of PyFlink's that Rekindle does not have was imported
├── InvalidProgramError         the program cannot be translated or cannot work (duplicate uid, unpicklable function, …)
│   ├── InvalidCallError        a function calls what it may not call there, or with the wrong kind of argument
│   ├── InvalidArgumentError    … or with an argument that can never be right
│   └── NotSupportedError       the program asks for something that Rekindle does not have
├── GraphvizError               the program that draws plans as images is missing, or failed
├── StateAccessError            keyed state used where there is no key
├── SerializationError          a value does not match its type, or bytes are no value
│   └── RecordTooLargeError     a record has more bytes than Spark carries
├── SparkSetupError             no Java, an unusable session, an unsupported DataFrame
├── SparkLostError              Spark is gone under the job, which is SUSPENDED: nothing of it is committed or deleted
├── JobExecutionError           the job ended in FAILED; carries the root cause
├── JobCancelledError           the job was cancelled while somebody waited for its result
├── JobSuspendedError           this driver was asked to end and left the job as it was, for another to go on with
├── JobFencedError              another driver has taken over the job: this one stops and changes nothing any more
├── UserCodeError               user code raised in a slot; carries operator, subtask and traceback
├── OutputLostError             a sink has lost records: only those of the last checkpoint on bring them again
├── SlotLostError               a slot process died or fell silent
├── SlotProtocolError           a peer spoke out of turn (second delivery, old attempt, bad secret)
├── RestError                   a job in another process refused a request; carries the HTTP status
│   ├── UnreachableError        nobody answers there, or the token is refused
│   ├── NotFoundError           there is no such job, checkpoint or operator
│   └── AmbiguousJobError       more than one job goes by that name
├── QueryableStateError         a query of a running job's state was not answered
│   ├── UnknownJobError         the proxy that was asked does not serve this job
│   ├── UnknownStateNameError   the job has no queryable state of that name
│   ├── UnknownKeyError         the state holds nothing for that key
│   ├── WrongStateTypeError     key or state are of another type than the client says
│   ├── NoStateOwnerError       the job is starting or restarting: nobody owns the key yet
│   ├── NoCheckpointError       no checkpoint of the job has been completed that could be read
│   ├── StateServerGoneError    nobody answers, or the connection broke
│   ├── QueryTimeoutError       no answer came in time
│   ├── QueryRefusedError       the query is malformed, too large, or not allowed
│   └── ImmutableStateError     a state that a query returned was to be changed
└── CheckpointError
    ├── StopFailedError         the job was not stopped with a savepoint, or not cleanly
    ├── CheckpointStorageError  the checkpoint storage cannot be written or read
    ├── CheckpointCorruptError  a file is half written, damaged or of an unknown version
    ├── StateRestoreError       a snapshot does not fit the program that restores it
    │   ├── CheckpointNotFoundError  there is no snapshot where one was to be restored from
    │   ├── StateMigrationException  a state's type changed in a way that state cannot follow
    │   └── SerializerSnapshotError  what is known of how state was written cannot be written or read back
    ├── StateNotFoundError      a snapshot has no such operator or state
    └── InvalidCheckpointTransitionError  a bug: the checkpoint coordinator was driven wrongly

SystemExit
└── ProgramPlanned              the program was run for its plan only, and got as far as that

Each class says whether a restart of the job may cure it (``curable``).
"""

from __future__ import annotations


class RekindleError(Exception):
    """Base of all errors that Rekindle raises on purpose.

    Attributes:
        curable: Whether a restart of the job may cure it: then the restart strategy decides. All others fail the job
            at once.
    """

    curable: bool = True


class ConfigurationError(RekindleError, ValueError):
    """A setting that cannot work; the message names key and value."""

    curable = False


class UnavailableModuleError(RekindleError, ModuleNotFoundError):
    """A module of PyFlink's that Rekindle does not have was imported; the message says what to use instead."""


class InvalidProgramError(RekindleError):
    """The program cannot be translated into a job, or the job can never work."""

    curable = False


class InvalidCallError(InvalidProgramError, TypeError):
    """A function calls what it may not call there, or with the wrong kind of argument."""


class InvalidArgumentError(InvalidProgramError, ValueError):
    """A function calls with an argument of the right kind that can never be right."""


class NotSupportedError(InvalidProgramError, NotImplementedError):
    """The program asks for something that Rekindle does not have."""


class GraphvizError(RekindleError):
    """A plan cannot be drawn as an image: Graphviz's program ``dot`` is missing, or failed."""

    curable = False


class StateAccessError(RekindleError):
    """Keyed state was used where there is no key."""

    curable = False


class SerializationError(RekindleError):
    """A value does not match the declared type, or bytes are not what a serializer wrote."""

    curable = False


class RecordTooLargeError(SerializationError):
    """A record has more bytes than Spark carries from one operator to another; it would have after a restart, too.

    The message names both operators, the size and the limit.
    """


class SparkSetupError(RekindleError):
    """Spark cannot be started, or cannot run this job."""

    curable = False


class SparkLostError(RekindleError):
    """Spark is gone under a job: its JVM died, or its session was stopped.

    To the job this is the death of its driver. It is SUSPENDED: nothing of it is committed, no checkpoint is deleted,
    and it can go on from the last one.
    """


class JobExecutionError(RekindleError):
    """The job ended in FAILED; ``__cause__`` is why."""


class JobCancelledError(RekindleError):
    """The job was cancelled while somebody waited for its result."""


class JobSuspendedError(RekindleError):
    """The driver was asked to end, and has left the job as it was: another driver may go on with it."""


class JobFencedError(RekindleError):
    """Another driver has taken over the job: this one stops, commits nothing and deletes nothing any more."""


class UserCodeError(RekindleError):
    """User code raised inside a slot.

    Attributes:
        operator: Name of the operator whose function raised.
        subtask: Index of the subtask, counted from 0.
        user_traceback: The traceback as it was in the slot.
        uid: The uid that the program gave the operator; empty if it gave none.
        record: The record or timer at which it raised; empty if that is not known, or not to be shown.
        identity: The same for all failures of this kind at this place and record; empty if nobody knows.
        curable: Whether a restart may cure it: not what a function does that can never work, such as to use keyed state
            without a key.
        repeated: How often the job has failed like that, in words; empty the first time.
    """

    def __init__(
        self,
        operator: str,
        subtask: int,
        summary: str,
        user_traceback: str,
        uid: str = "",
        record: str = "",
        identity: str = "",
        curable: bool = True,
    ) -> None:
        super().__init__(operator, subtask, summary, user_traceback, uid, record, identity, curable)
        self.curable = curable
        self.repeated = ""
        self.operator = operator
        self.uid = uid
        self.subtask = subtask
        self.summary = summary
        self.user_traceback = user_traceback
        self.record = record
        self.identity = identity

    def __str__(self) -> str:
        uid = f" (uid {self.uid})" if self.uid else ""
        record = f", at {self.record}" if self.record else ""
        repeated = f"{self.repeated}: " if self.repeated else ""
        return (
            f"{repeated}{self.summary}\n  in operator {self.operator!r}{uid}, subtask {self.subtask}{record}; "
            f"the traceback there was:\n\n{self.user_traceback}"
        )


class OutputLostError(RekindleError):
    """A sink has lost records that it was given: the job has to go back to its last checkpoint, to be given them again.

    Raised by ``SinkWriter.prepare_commit``; other errors there may be tolerated, as those of checkpoints in general.
    """


class SlotLostError(RekindleError):
    """A slot process died or fell silent.

    Attributes:
        slot: Which one; None if nobody knows.
    """

    def __init__(self, message: str, slot: int | None = None) -> None:
        super().__init__(message)
        self.slot = slot


class SlotProtocolError(RekindleError):
    """A peer spoke out of turn: a second delivery, an old attempt, a bad secret."""


class RestError(RekindleError):
    """A job in another process refused a request.

    Attributes:
        status: The HTTP status of its answer; None if there was no answer.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class UnreachableError(RestError):
    """Nobody answers there, or not to this token."""


class NotFoundError(RestError):
    """There is no such job, checkpoint or operator."""


class AmbiguousJobError(RestError):
    """More than one job goes by that name."""


class QueryableStateError(RekindleError):
    """A query of a running job's state was not answered."""


class UnknownJobError(QueryableStateError):
    """The proxy that was asked does not serve this job."""


class UnknownStateNameError(QueryableStateError):
    """The job has no queryable state of that name."""


class UnknownKeyError(QueryableStateError, LookupError):
    """The state holds nothing for that key."""


class WrongStateTypeError(QueryableStateError, TypeError):
    """Key or state are of another type than the client says, or of one that no query can carry."""


class NoStateOwnerError(QueryableStateError):
    """The job is starting or restarting: nobody owns the key yet. Asking again will help."""


class NoCheckpointError(QueryableStateError):
    """No checkpoint of the job has been completed that could be read."""


class StateServerGoneError(QueryableStateError, ConnectionError):
    """Nobody answers, or the connection broke: the job has ended, or is restarting."""


class QueryTimeoutError(QueryableStateError, TimeoutError):
    """No answer came in time."""


class QueryRefusedError(QueryableStateError):
    """The query is malformed, too large, or not allowed."""


class ImmutableStateError(QueryableStateError):
    """A state that a query returned was to be changed: it is a copy, and the job would not see it."""


class CheckpointError(RekindleError):
    """Something about a checkpoint went wrong."""


class StopFailedError(CheckpointError):
    """A job was not stopped with a savepoint, or ended in another way before all its output was committed."""


class CheckpointStorageError(CheckpointError):
    """The checkpoint storage cannot be written or read."""


class CrashRecordError(CheckpointError):
    """A crash record cannot be opened, or does not hold what is needed to call the function again."""


class CheckpointCorruptError(CheckpointError):
    """A checkpoint file is half written, damaged, or of an unknown version."""


class StateRestoreError(CheckpointError):
    """A snapshot does not fit the program that restores it."""

    curable = False


class CheckpointNotFoundError(StateRestoreError):
    """There is no checkpoint or savepoint where one was to be restored from."""


class StateMigrationException(StateRestoreError):  # noqa: N818 - Flink's name
    """The type of a state changed in a way that state in the snapshot cannot follow."""


class SerializerSnapshotError(StateRestoreError):
    """The snapshot of a serializer cannot be written or read back: its class is gone, nested, or of another version."""


class StateNotFoundError(CheckpointError):
    """A snapshot has no such operator, or the operator no such state."""


class InvalidCheckpointTransitionError(CheckpointError):
    """The checkpoint coordinator was driven wrongly: a bug in Rekindle, not in the program.

    Attributes:
        problem: What was wrong.
        history: The events before it, oldest first.
    """

    def __init__(self, problem: str, history: tuple[object, ...] = ()) -> None:
        super().__init__(problem, history)
        self.problem = problem
        self.history = history

    def __str__(self) -> str:
        lines = [f"{self.problem} This is a bug in Rekindle; the last events were:"]
        lines += [f"  {event}" for event in self.history] or ["  (none)"]
        return "\n".join(lines)


class ProgramPlanned(SystemExit):
    """The program was run for its plan only: ``execute`` wrote it down, and ends the program here."""


def kind_name(error: RekindleError) -> str:
    """Return the name of an error's class in this tree; of a class that is defined elsewhere, that of its base here."""
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == __name__)


def kind_named(name: str) -> type[RekindleError]:
    """Return the class of this tree with a name that :func:`kind_name` gave."""
    kind: type[RekindleError] = globals()[name]
    return kind

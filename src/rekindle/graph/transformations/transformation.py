"""What is the same for all transformations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from rekindle.contracts.functions import CheckpointedFunction, Function, ListCheckpointed
from rekindle.exceptions import InvalidProgramError
from rekindle.types.type_information import TypeInformation


@dataclass(frozen=True, eq=False)
class Transformation:
    """Describe an operator. It travels to the slots, where an operator is built of it.

    Attributes:
        key_type: The type that the program gave to the keys of the input; None: any Python object.
    """

    kind: ClassVar[str]
    """What kind of operator it is. Derived uids are made of it, so it never changes."""

    generates_watermarks: ClassVar[bool] = False
    """Whether watermarks begin here; the operator then stands behind an exchange if a Spark source feeds it."""

    moves_watermark: ClassVar[bool] = False
    """Whether records move the watermark of the output, and not only the watermarks of the inputs do."""

    follows_splits: ClassVar[bool] = False
    """Whether its watermark waits for each split of its source: it does not matter which of them comes first."""

    emits_unasked: ClassVar[bool] = False
    """Whether results may come when no record does: at an epoch's end, by timers, at the end of all input.

    Behind a Spark source only an exchange marks these; the operator then stands behind one.
    """

    begins_iteration: ClassVar[bool] = False
    """Whether it is the head of a loop."""

    hosted: ClassVar[bool] = False
    """Whether it is a source that slots read."""

    moves_by_itself: ClassVar[bool] = False
    """Whether it is a source that goes on while its slot stands still, and so has no position of an epoch."""

    passes_rows: ClassVar[bool] = False
    """Whether its records are Spark's rows as they are, so that they need not pass through it."""

    key_type: TypeInformation | None = field(default=None, kw_only=True)

    @property
    def uid_kind(self) -> str:
        """Return what derived uids are made of."""
        return self.kind

    def keeps_records(self) -> bool:
        """Return whether records may lead to results later, out of state: replaying does not bring those again."""
        return False


@dataclass(frozen=True, eq=False)
class FunctionTransformation(Transformation):
    """Describe an operator that calls a user function.

    Attributes:
        function: The function.
    """

    function: Function

    def __post_init__(self) -> None:
        check_interfaces(self.function)

    def keeps_records(self) -> bool:
        return isinstance(self.function, CheckpointedFunction | ListCheckpointed)


@dataclass(frozen=True, eq=False)
class KeyedTransformation(FunctionTransformation):
    """Describe an operator with keyed state."""

    def keeps_records(self) -> bool:
        return True


def check_interfaces(function: Function) -> None:
    """Raise if nobody could tell how the state of a function is kept."""
    if all(isinstance(function, interface) for interface in (CheckpointedFunction, ListCheckpointed)):
        raise InvalidProgramError(
            f"{type(function).__name__} implements both CheckpointedFunction and ListCheckpointed, whose "
            "snapshot_state methods differ; keep one of them"
        )

"""Functions that know where they run at any time, not only in ``open``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rekindle.contracts.functions.basic_functions import Function
from rekindle.exceptions import InvalidProgramError

if TYPE_CHECKING:
    from rekindle.contracts.functions.runtime_context import RuntimeContext

__all__ = ["RichFunction"]


class RichFunction(Function):
    """Keep the runtime context for the function, from before ``initialize_state`` and ``open``."""

    __runtime_context: RuntimeContext | None = None

    def set_runtime_context(self, runtime_context: RuntimeContext) -> None:
        """Set the context; called by the system."""
        self.__runtime_context = runtime_context

    def get_runtime_context(self) -> RuntimeContext:
        """Return the context: name, number and parallelism of the subtask."""
        if self.__runtime_context is None:
            raise InvalidProgramError(
                f"{type(self).__name__} has no runtime context before it runs: call get_runtime_context() in open() "
                "or later, not in __init__"
            )
        return self.__runtime_context

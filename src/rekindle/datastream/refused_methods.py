"""Methods that a kind of stream inherits and cannot have: they raise what PyFlink raises."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

OF_OPERATORS = (
    "set_parallelism",
    "name",
    "get_name",
    "uid",
    "set_uid_hash",
    "set_max_parallelism",
    "force_non_parallel",
    "set_buffer_timeout",
    "start_new_chain",
    "disable_chaining",
    "slot_sharing_group",
)
"""The methods that are about the operator of a stream, for streams that are not made by one."""


def refuse_methods(cls: type, methods: Iterable[str], words: str, why: str) -> None:
    """Let methods of a class raise.

    Args:
        cls: The class.
        methods: Their names.
        words: PyFlink's message, in which ``{method}`` stands for the name.
        why: What their documentation says.
    """
    for method in methods:
        setattr(cls, method, _refusing(method, words.format(method=method), why))


def _refusing(method: str, words: str, why: str) -> Callable[..., NoReturn]:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise Exception(words)  # PyFlink's type, too

    refuse.__name__ = method
    refuse.__doc__ = why
    return refuse

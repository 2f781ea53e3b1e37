"""Methods that a kind of stream inherits and cannot have, which raise what PyFlink raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

_OF_OPERATORS = {
    "set_parallelism": "Set parallelism for",
    "name": "Set name for",
    "get_name": "Get name of",
    "uid": "Set uid for",
    "set_uid_hash": "Set uid hash for",
    "set_max_parallelism": "Set max parallelism for",
    "force_non_parallel": "Set force non-parallel for",
    "set_buffer_timeout": "Set buffer timeout for",
    "start_new_chain": "Start new chain for",
    "disable_chaining": "Disable chaining for",
    "slot_sharing_group": "Setting slot sharing group for",
}
"""The methods that are about the operator of a stream, with PyFlink's words for each."""


def refuse_methods_of_operators(cls: type, why: str) -> None:
    """Let the methods of a stream raise that are about its operator: it is not made by one.

    Args:
        cls: The class.
        why: What the documentation of the methods says.
    """
    for method, words in _OF_OPERATORS.items():
        refuse_method(cls, method, f"{words} {cls.__name__} is not supported.", why)


def refuse_method(cls: type, method: str, words: str, why: str) -> None:
    """Let a method of a class raise.

    Args:
        cls: The class.
        method: The name of the method.
        words: PyFlink's message.
        why: What the documentation of the method says.
    """
    setattr(cls, method, _refusing(method, words, why))


def _refusing(method: str, words: str, why: str) -> Callable[..., NoReturn]:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise Exception(words)

    refuse.__name__ = method
    refuse.__doc__ = why
    return refuse

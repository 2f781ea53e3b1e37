"""The accumulators of a job: those of a slot, and what comes of those of all slots.

An attempt begins with none, as in Flink: what the result of a job says is what its last attempt has gathered.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from typing import Any, TypeVar

from rekindle.contracts.functions.accumulators import Accumulator
from rekindle.exceptions import InvalidCallError, InvalidProgramError, SerializationError

A = TypeVar("A", bound=Accumulator[Any, Any])


class SlotAccumulators:
    """Hold the accumulators of all operators of a slot, by operator and name."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Accumulator[Any, Any]] = {}

    def add(self, uid: str, operator: str, name: str, accumulator: Accumulator[Any, Any]) -> None:
        """Take an accumulator of an operator.

        Raises:
            InvalidCallError: It is not one, or the operator has one of that name.
        """
        if not isinstance(accumulator, Accumulator):
            raise InvalidCallError(
                f"add_accumulator takes an instance of Accumulator, such as IntCounter(), got {accumulator!r}"
            )
        if (uid, name) in self._known:
            raise InvalidCallError(
                f"operator {operator!r} has an accumulator {name!r} already: keep the first, or ask get_accumulator"
            )
        self._known[uid, name] = accumulator

    def get(self, uid: str, name: str) -> Accumulator[Any, Any] | None:
        """Return an accumulator of an operator; None if it has none of that name."""
        return self._known.get((uid, name))

    def get_or_add(self, uid: str, operator: str, name: str, kind: type[A]) -> A:
        """Return an operator's accumulator of a class, made where there is none.

        Raises:
            InvalidCallError: There is one of another class.
        """
        found = self._known.get((uid, name))
        if found is None:
            found = self._known[uid, name] = kind()
        if not isinstance(found, kind):
            raise InvalidCallError(
                f"accumulator {name!r} of operator {operator!r} is a {type(found).__name__}, not a {kind.__name__}"
            )
        return found

    def encoded(self) -> bytes:
        """Return all of them as bytes; none where there are none.

        Raises:
            SerializationError: One cannot be pickled.
        """
        if not self._known:
            return b""
        try:
            return pickle.dumps([(name, each) for (_, name), each in self._known.items()], 5)
        except Exception as error:
            names = ", ".join(repr(name) for _, name in self._known)
            raise SerializationError(f"the accumulators {names} cannot be pickled: {error}") from error


def merged_accumulators(slots: Iterable[bytes]) -> dict[str, Any]:
    """Merge what slots have sent; return the results by name.

    Raises:
        InvalidProgramError: Two operators gave one name to accumulators of different classes.
    """
    merged: dict[str, Accumulator[Any, Any]] = {}
    for encoded in slots:
        for name, each in pickle.loads(encoded) if encoded else ():
            known = merged.get(name)
            if known is None:
                merged[name] = each
            elif type(known) is not type(each):
                raise InvalidProgramError(
                    f"accumulator {name!r} is a {type(known).__name__} in one operator and a {type(each).__name__} in "
                    "another: give one of them another name"
                )
            else:
                known.merge(each)
    return {name: accumulator.get_local_value() for name, accumulator in merged.items()}

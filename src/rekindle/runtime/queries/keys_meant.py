"""Keys that come as text: which keys of a state they may mean, and which of those was there."""

from __future__ import annotations

from typing import Any

import msgspec

from rekindle.exceptions import SerializationError, WrongStateTypeError
from rekindle.runtime.queries import protocol as p
from rekindle.runtime.queries.query_types import PartType, check_key
from rekindle.state.key_hash import key_hash
from rekindle.state.key_text import keys_meant
from rekindle.types.type_serializer import TypeSerializer

_LONGEST = 4096  # characters of a key as text


class KeysMeant:
    """Turn a query with keys as text into one with all keys that these may mean.

    Attributes:
        query: The latter.

    Raises:
        WrongStateTypeError: A text cannot be a key of the state.
    """

    def __init__(self, query: p.Query, serializer: TypeSerializer[Any]) -> None:
        part = PartType.of(serializer)
        keys: list[p.QueriedKey] = []
        self._counts: list[int] = []
        for each in query.keys:
            meant = _meant(each.data, part, serializer)
            keys += meant
            self._counts.append(len(meant))
        self.query = msgspec.structs.replace(query, keys=keys, key_type=part.fingerprint)

    def answer(self, answer: p.Answer) -> p.Answer:
        """Return for each text the first result that is a value, else the first."""
        results = iter(answer.results)
        chosen = []
        for count in self._counts:
            own = [next(results) for _ in range(count)]
            chosen.append(next((result for result in own if result.value is not None), own[0]))
        return msgspec.structs.replace(answer, results=chosen)


def _meant(data: bytes, part: PartType, serializer: TypeSerializer[Any]) -> list[p.QueriedKey]:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise WrongStateTypeError(f"a key is not text: {error}") from error
    if len(text) > _LONGEST:
        raise WrongStateTypeError(f"a key has {len(text):,} characters, more than the {_LONGEST:,} allowed")
    found = []
    for key in keys_meant(text, serializer):
        try:
            check_key(key)
            (key,) = part.serializer.converted([key])
            found.append(p.QueriedKey(part.serializer.to_bytes(key), key_hash(key)))
        except (SerializationError, TypeError, RecursionError):
            continue
    if not found:
        raise WrongStateTypeError(f"{text!r} cannot be a key: the type of the keys is {part.description}")
    return found

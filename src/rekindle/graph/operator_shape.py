"""What a uid is derived from."""

from __future__ import annotations

import hashlib
from typing import NamedTuple


class OperatorShape(NamedTuple):
    """Say what an operator is and where its records come from. Operators of one shape are told apart by their number.

    Attributes:
        kind: The kind of the operator.
        inputs: Of each input, the uid that what is behind it is derived from, and how its records are dealt out.
    """

    kind: str
    inputs: tuple[tuple[str, str], ...] = ()

    def uid(self, before: int) -> str:
        """Return the uid of an operator that was given none.

        Args:
            before: How many operators of this shape were written before it.
        """
        inputs = ",".join(f"{uid}:{way}" for uid, way in self.inputs)
        return hashlib.blake2b(f"{self.kind}({inputs})#{before}".encode(), digest_size=16).hexdigest()

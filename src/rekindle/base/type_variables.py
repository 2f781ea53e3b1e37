"""The type variables of streams, functions and state.

Each defaults to ``Any``: a class without parameters may hold anything, and ``mypy --strict`` does not ask for them.
What only takes values is contravariant, and what only gives them covariant: a stream of ``bool`` is one of ``int``, and
a function that takes any ``object`` can be called with the records of every stream.
"""

from __future__ import annotations

from typing import Any

from typing_extensions import TypeVar

__all__ = [
    "ACC",
    "CONTEXT",
    "IN",
    "IN1",
    "IN2",
    "KEY",
    "OUT",
    "T2",
    "TXN",
    "W2",
    "K",
    "K_co",
    "R",
    "S",
    "T",
    "T1_co",
    "T2_co",
    "T_co",
    "V",
    "W",
    "W_co",
]

# --- what functions take and give ---

IN = TypeVar("IN", contravariant=True, default=Any)
IN1 = TypeVar("IN1", contravariant=True, default=Any)
IN2 = TypeVar("IN2", contravariant=True, default=Any)
KEY = TypeVar("KEY", contravariant=True, default=Any)
OUT = TypeVar("OUT", covariant=True, default=Any)

# --- what streams hold ---

T_co = TypeVar("T_co", covariant=True, default=Any)
T1_co = TypeVar("T1_co", covariant=True, default=Any)
T2_co = TypeVar("T2_co", covariant=True, default=Any)
K_co = TypeVar("K_co", covariant=True, default=Any)
W_co = TypeVar("W_co", covariant=True, default=Any)

# --- what is both taken and given ---

T = TypeVar("T", default=Any)
T2 = TypeVar("T2", default=Any)
K = TypeVar("K", default=Any)
V = TypeVar("V", default=Any)
W = TypeVar("W", default=Any)
W2 = TypeVar("W2", default=Any)
R = TypeVar("R", default=Any)
S = TypeVar("S", default=Any)
ACC = TypeVar("ACC", default=Any)
TXN = TypeVar("TXN", default=Any)
CONTEXT = TypeVar("CONTEXT", default=Any)

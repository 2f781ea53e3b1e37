"""The formats of savepoints that Flink knows."""

from __future__ import annotations

from enum import Enum

__all__ = ["SavepointFormatType"]


class SavepointFormatType(Enum):
    """Choose how a savepoint is written.

    Rekindle has one format for savepoints, which every state backend reads: both choices give that one.
    """

    CANONICAL = "CANONICAL"
    NATIVE = "NATIVE"

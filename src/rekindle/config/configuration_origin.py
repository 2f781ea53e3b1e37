"""Where a value of the configuration came from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = ["Origin", "OriginKind"]


class OriginKind(Enum):
    """List the layers of the configuration, the lowest first."""

    DEFAULT = "default"
    FILE = "file"
    ENVIRONMENT = "environment"
    COMMAND_LINE = "command line"
    PROGRAM = "program"


@dataclass(frozen=True, slots=True)
class Origin:
    """Name the place that a value was written in.

    Attributes:
        kind: The layer.
        place: The file or the environment variable; empty for the other layers.
        line: The line there, where the place is a text of many lines.
    """

    kind: OriginKind
    place: str = ""
    line: int | None = None

    def __str__(self) -> str:
        name = f"${self.place}" if self.kind is OriginKind.ENVIRONMENT else self.place or self.kind.value
        return name if self.line is None else f"{name}:{self.line}"


DEFAULT = Origin(OriginKind.DEFAULT)
COMMAND_LINE = Origin(OriginKind.COMMAND_LINE)
PROGRAM = Origin(OriginKind.PROGRAM)

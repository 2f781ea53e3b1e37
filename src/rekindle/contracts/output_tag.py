"""The names of side outputs."""

from __future__ import annotations

from typing import Any, Generic, overload

from rekindle.base.type_variables import IN
from rekindle.exceptions import ConfigurationError
from rekindle.types.row import Row
from rekindle.types.typeinfo import RowTypeInfo, TypeInformation, Types

__all__ = ["OutputTag"]


class OutputTag(Generic[IN]):
    """Name a side output of an operator, and say what it carries.

    A function sends to it with ``yield tag, value``; ``stream.get_side_output(tag)`` is the stream of what
    was sent. Tags with the same id and type are equal.

    Attributes:
        tag_id: The name of the side output.
        type_info: The type of its elements; pickled Python objects if none was given.
    """

    @overload
    def __init__(self, tag_id: str, type_info: TypeInformation[IN] | None = None) -> None: ...

    @overload
    def __init__(self: OutputTag[Row], tag_id: str, type_info: list[TypeInformation]) -> None: ...

    def __init__(self, tag_id: str, type_info: TypeInformation[Any] | list[TypeInformation] | None = None) -> None:
        """Name a side output.

        Args:
            tag_id: Its name, not empty.
            type_info: The type of its elements; a list of types stands for a row of them.
        """
        if tag_id is not None and not isinstance(tag_id, str):
            raise TypeError(f"OutputTag tag_id must be a string, got {tag_id!r}")
        if not tag_id:
            raise ConfigurationError("OutputTag tag_id cannot be None or empty string")
        self.tag_id = tag_id
        self.type_info: TypeInformation
        if type_info is None:
            self.type_info = Types.PICKLED_BYTE_ARRAY()
        elif isinstance(type_info, list):
            self.type_info = RowTypeInfo(type_info)
        elif isinstance(type_info, TypeInformation):
            self.type_info = type_info
        else:
            raise TypeError(f"OutputTag type_info must be None, list or TypeInformation, got {type_info!r}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OutputTag):
            return NotImplemented
        return self.tag_id == other.tag_id and self.type_info == other.type_info

    def __hash__(self) -> int:
        return hash((self.tag_id, self.type_info))

    def __repr__(self) -> str:
        return f"OutputTag({self.tag_id!r}, {self.type_info})"

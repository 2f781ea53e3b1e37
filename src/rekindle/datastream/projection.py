"""Some fields out of each tuple or row."""

from __future__ import annotations

from typing import Any

from rekindle.contracts.functions.basic_functions import MapFunction
from rekindle.exceptions import InvalidProgramError
from rekindle.types.row import Row, row_from
from rekindle.types.type_information import TypeInformation
from rekindle.types.typeinfo import RowTypeInfo, TupleTypeInfo, Types


class Projection(MapFunction):
    """Keep some fields of each record, in the order in which they are named."""

    def __init__(self, places: tuple[int, ...], names: list[str] | None) -> None:
        self._places = places
        self._names = names

    def map(self, value: Any) -> Any:
        """Return the fields, as a tuple or a row, as they came."""
        values = [value[place] for place in self._places]
        return row_from(values, self._names) if isinstance(value, Row) else tuple(values)


def projection(type_info: TypeInformation, places: tuple[int, ...]) -> tuple[Projection, TypeInformation]:
    """Make the function of ``project`` and the type of what it returns.

    Raises:
        InvalidProgramError: The stream holds no tuples or rows, or they do not have these fields.
    """
    if not isinstance(type_info, TupleTypeInfo | RowTypeInfo):
        raise InvalidProgramError(
            f"Only Tuple DataStreams can be projected, and rows; this stream is of {type_info}: give the operator "
            "before project an output_type"
        )
    types = type_info.get_field_types()
    if not places:
        raise InvalidProgramError("project() needs to select at least one field")
    wrong = [place for place in places if not isinstance(place, int) or not 0 <= place < len(types)]
    if wrong:
        raise InvalidProgramError(
            f"project was asked for the field {wrong[0]!r}, and the fields are 0 to {len(types) - 1}"
        )
    chosen = [types[place] for place in places]
    if isinstance(type_info, TupleTypeInfo):
        return Projection(places, None), Types.TUPLE(chosen)
    names = [type_info.get_field_names()[place] for place in places]
    if len(set(names)) < len(names):
        raise InvalidProgramError(f"project would make rows with duplicate field names: {names}; map the rows instead")
    return Projection(places, names), Types.ROW_NAMED(names, chosen)

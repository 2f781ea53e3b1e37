"""Type information for the rows of a DataFrame. Programs do not name it: it is what the DataFrame's schema says."""

from __future__ import annotations

from collections.abc import Iterable

from rekindle.types.native_typeinfo import ValueTypeInfo
from rekindle.types.type_information import TypeInformation

__all__ = ["SparkRowTypeInfo"]


class SparkRowTypeInfo(ValueTypeInfo):
    """Describe Spark's rows of one schema.

    Attributes:
        names: The names of the columns.
        field_types: Their types, each of which takes None.
    """

    def __init__(self, names: Iterable[str], field_types: Iterable[TypeInformation]) -> None:
        self.names = tuple(names)
        self.field_types = tuple(field_types)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}: {kind}" for name, kind in zip(self.names, self.field_types, strict=True))
        return f"SparkRowTypeInfo<{fields}>"

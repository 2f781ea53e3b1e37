"""What a program says of a table: its columns, and the function that writes it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from rekindle.contracts.table_commit import TableCommit, TableWriter
from rekindle.exceptions import InvalidProgramError
from rekindle.types.type_information import TypeInformation
from rekindle.types.typeinfo import PickledBytesTypeInfo

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from rekindle.datastream.stream_execution_environment import StreamExecutionEnvironment

    TableSchema: TypeAlias = StructType | str | pa.Schema

_HOW = (
    "give schema=…, a StructType or a string such as 'user string, visits bigint', or let the operator before say the "
    "type of its records (output_type=Types.ROW_NAMED(…), a dataclass, a named tuple)"
)


def table_columns(
    given: TableSchema | None, type_info: TypeInformation | None, env: StreamExecutionEnvironment, place: str
) -> pa.Schema:
    """Return the columns of a table.

    Args:
        given: What the program says they are; None: what the type of the records says.
        type_info: The type of the records; None: they may be any Python object.
        env: The program's environment.
        place: The method that was called, for messages.

    Raises:
        InvalidProgramError: They cannot be known, or are of types that cannot be staged.
    """
    import pyarrow as pa

    from rekindle.columns.table_schema import NoColumnError, table_schema, with_nullable_parts

    if given is not None:
        return with_nullable_parts(given if isinstance(given, pa.Schema) else _spark_columns(given, env, place))
    if type_info is None or isinstance(type_info, PickledBytesTypeInfo):
        raise InvalidProgramError(f"{place} does not know the columns of the table: records may be anything. {_HOW}")
    try:
        return table_schema(type_info)
    except NoColumnError as error:
        raise InvalidProgramError(f"{place} does not know the columns of the table: {error}. So {_HOW}") from None


def _spark_columns(given: StructType | str, env: StreamExecutionEnvironment, place: str) -> pa.Schema:
    from pyspark.errors import PySparkException
    from pyspark.sql.types import StructType

    from rekindle.runtime.spark.rows_frame import arrow_schema

    if isinstance(given, str):
        env.spark_session  # noqa: B018 - Spark parses the string
        try:
            columns = StructType.fromDDL(given)
        except PySparkException as error:
            raise InvalidProgramError(f"{place} cannot read schema {given!r}: {error}") from error
    else:
        columns = given
    if not isinstance(columns, StructType):
        raise TypeError(f"{place} takes a schema as a StructType, or as a string, and was given {given!r}")
    try:
        return arrow_schema(columns)
    except TypeError as error:
        raise InvalidProgramError(
            f"{place} cannot stage rows of schema {columns.simpleString()}: {error}. Choose another type, and cast in "
            "the function that writes"
        ) from error


def table_writer(write: Callable[..., None]) -> TableWriter:
    """Return a program's function as one of a DataFrame and a commit; it may be one of the DataFrame alone.

    Raises:
        TypeError: It cannot be called so.
    """
    if not callable(write):
        raise TypeError(f"sink_to_data_frame takes a function of a DataFrame, and was given {write!r}")
    try:
        signature = inspect.signature(write)
    except (TypeError, ValueError):  # of something built in: as it is
        return write
    alone = _takes(signature, 1)
    if _takes(signature, 2) and not (alone and _is_bound(signature)):
        return write
    if not alone:
        raise TypeError(
            f"sink_to_data_frame takes a function write(frame, commit) or write(frame), and {write!r} takes {signature}"
        )

    def without_commit(frame: Any, commit: TableCommit) -> None:
        write(frame)

    return without_commit


def _is_bound(signature: inspect.Signature) -> bool:
    """Return whether the second parameter is no commit but has a value, as in ``lambda frame, path=path: …``."""
    second = list(signature.parameters.values())[1:2]  # of *arguments there is none
    return any(each.default is not each.empty and each.name != "commit" for each in second)


def _takes(signature: inspect.Signature, arguments: int) -> bool:
    try:
        signature.bind(*(None,) * arguments)
    except TypeError:
        return False
    return True

"""How records become statements with parameters, a chunk at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from rekindle.connectors.jdbc.column_types import or_none
from rekindle.connectors.jdbc.dialect import JdbcDialect
from rekindle.connectors.jdbc.placeholders import ParsedStatement, parse_statement
from rekindle.exceptions import ConfigurationError
from rekindle.runtime.at_work import at_record
from rekindle.types.row import Row, RowKind
from rekindle.types.typeinfo import RowTypeInfo

Parameters = Sequence[Any]
Run = tuple[int, list[Parameters]]
"""The index of a statement, and the parameters of rows in a row that it is for."""

_WRITE, _DELETE = 0, 1


@dataclass(frozen=True, slots=True)
class StatementPlan:
    """The statements of a sink, as the program gave them.

    Attributes:
        write: Writes a record.
        parameters: The type of the records, whose fields are the parameters; or a function that returns them.
        delete: Deletes a record, for changelogs: then ``write`` is for the rows that are inserted or changed.
        key_fields: The fields that are the parameters of ``delete``.
    """

    write: ParsedStatement
    parameters: RowTypeInfo | Callable[[Any], Parameters]
    delete: ParsedStatement | None = None
    key_fields: tuple[str, ...] = ()

    def bind(self, dialect: JdbcDialect) -> BoundStatements:
        """Return the statements for the driver of a dialect.

        Raises:
            ConfigurationError: No column can hold values of a field's type.
        """
        statements = (self.write,) if self.delete is None else (self.write, self.delete)
        sql = tuple(statement.with_markers(dialect.marker) for statement in statements)
        given = tuple(statement.sql for statement in statements)
        if not isinstance(self.parameters, RowTypeInfo):
            function = self.parameters
            return BoundStatements(sql, given, _applied(function), None)
        types = self.parameters.get_field_types()
        converters = [dialect.converter(field_type) for field_type in types]
        keys = [self.parameters.get_field_names().index(name) for name in self.key_fields]
        return BoundStatements(
            sql, given, _fields_of(self.parameters, converters), None if self.delete is None else keys
        )


@dataclass(frozen=True, slots=True)
class BoundStatements:
    """The statements of a sink, ready for a driver.

    Attributes:
        sql: The statements, with the driver's placeholders.
        given: The same, as the program gave them.
        parameters: Returns the parameters of records.
        keys: The positions of the parameters that ``delete`` takes; None if all rows are written.
    """

    sql: tuple[str, ...]
    given: tuple[str, ...]
    parameters: Callable[[list[Any]], list[Parameters]]
    keys: list[int] | None

    def as_given(self, given: tuple[str, ...], dialect: JdbcDialect) -> BoundStatements:
        """Return what executes the statements of an earlier version of the program; these, if there are none."""
        if given in ((), self.given):
            return self
        sql = tuple(parse_statement(each).with_markers(dialect.marker) for each in given)
        return replace(self, sql=sql, given=given)

    def runs(self, values: list[Any]) -> list[Run]:
        """Return what to execute for records, in their order."""
        if self.keys is None:
            return [(_WRITE, self.parameters(values))]
        kinds = [value.get_row_kind() if isinstance(value, Row) else RowKind.INSERT for value in values]
        runs: list[Run] = []
        for delete, run in groupby(
            (pair for pair in zip(kinds, values, strict=True) if pair[0] is not RowKind.UPDATE_BEFORE),
            lambda pair: pair[0] is RowKind.DELETE,
        ):
            rows = self.parameters([value for _, value in run])
            if delete:
                runs.append((_DELETE, [tuple(row[key] for key in self.keys) for row in rows]))
            else:
                runs.append((_WRITE, rows))
        return runs


def statement_plan(
    sql: str,
    parameters: RowTypeInfo | Callable[[Any], Parameters],
    delete: str | None = None,
    key_fields: Sequence[str] = (),
) -> StatementPlan:
    """Return the statements of a sink, checked.

    Raises:
        ConfigurationError: The number of placeholders is not that of the fields, or a key is not a field.
        TypeError: The parameters are neither a row type nor a function.
    """
    write = parse_statement(sql)
    deleting = None if delete is None else parse_statement(delete)
    if isinstance(parameters, RowTypeInfo):
        _check_count(write, len(parameters.get_field_types()), "its type has", "fields")
    elif not callable(parameters):
        raise TypeError(
            f"a database sink takes Types.ROW(...) or a function that returns parameters, got {parameters!r}"
        )
    if deleting is not None:
        if not isinstance(parameters, RowTypeInfo):
            raise ConfigurationError("a delete statement needs the type of the rows: give Types.ROW_NAMED(...)")
        unknown = [name for name in key_fields if name not in parameters.get_field_names()]
        if unknown:
            raise ConfigurationError(f"key fields {unknown} of a database sink are not among those of {parameters}")
        _check_count(deleting, len(key_fields), "it was given", "key fields")
    return StatementPlan(write, parameters, deleting, tuple(key_fields))


def _check_count(statement: ParsedStatement, fields: int, has: str, what: str) -> None:
    if statement.parameters != fields:
        raise ConfigurationError(
            f"the statement has {statement.parameters} placeholders, and {has} {fields} {what}: {statement.sql}"
        )


def _applied(function: Callable[[Any], Any]) -> Callable[[list[Any]], list[Parameters]]:
    """Return what calls a function for each record and makes parameters of what it returns."""

    @at_record(remaining="remaining")
    def applied(values: list[Any]) -> list[Parameters]:
        remaining = iter(values)
        return [tuple(function(value)) for value in remaining]

    return applied


def _fields_of(
    type_info: RowTypeInfo, converters: list[Callable[[Any], Any] | None]
) -> Callable[[list[Any]], list[Parameters]]:
    values_of = type_info.values_of
    if not any(converters):
        return _applied(values_of)
    columns = [(index, or_none(convert)) for index, convert in enumerate(converters) if convert is not None]

    apply = _applied(values_of)

    def converted(values: list[Any]) -> list[Parameters]:
        rows = [list(row) for row in apply(values)]
        for index, convert in columns:
            for row in rows:
                row[index] = convert(row[index])
        return [*rows]

    return converted

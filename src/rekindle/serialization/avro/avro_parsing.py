"""Avro schemas in one normal form: full names, and nothing in them but what reading, writing and resolving need."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

import fastavro

from rekindle.exceptions import SerializationError

Schema = Any  # as JSON gives it: a name, a list of the members of a union, or a dict
_PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
_OF_LOGICAL_TYPES = ("logicalType", "precision", "scale")


def normalized(schema: Schema) -> Schema:
    """Return a schema in normal form.

    Args:
        schema: A schema as JSON gives it, or as text.

    Raises:
        SerializationError: It is not an Avro schema.
    """
    try:
        if isinstance(schema, str) and schema.lstrip().startswith(("{", "[", '"')):
            schema = json.loads(schema)
        normal = _normal(fastavro.parse_schema(copy.deepcopy(schema)))
    except Exception as error:
        raise SerializationError(
            f"this is not an Avro schema: {type(error).__name__}: {error}: {schema!r:.300}"
        ) from error
    _check_unions(normal)
    return normal


def as_text(schema: Schema) -> str:
    """Write a schema in normal form, always in the same way."""
    return json.dumps(schema, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def as_written(schema: Schema) -> Schema:
    """Return that part of a schema in normal form which decides what bytes mean: no defaults and no aliases."""
    if isinstance(schema, list):
        return [as_written(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    written = {key: value for key, value in schema.items() if key not in ("aliases", "default")}
    for key in ("items", "values"):
        if key in written:
            written[key] = as_written(written[key])
    if "fields" in written:
        written["fields"] = [{"name": field["name"], "type": as_written(field["type"])} for field in written["fields"]]
    return written


def without_logical_types(schema: Schema) -> Schema:
    """Return a schema in normal form by which numbers, strings and bytes are read as such, whatever they stand for."""
    if isinstance(schema, list):
        return [without_logical_types(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {key: value for key, value in schema.items() if key not in _OF_LOGICAL_TYPES}
    for key in ("items", "values"):
        if key in plain:
            plain[key] = without_logical_types(plain[key])
    if "fields" in plain:
        plain["fields"] = [{**field, "type": without_logical_types(field["type"])} for field in plain["fields"]]
    return plain["type"] if set(plain) == {"type"} else plain


def named_types(schema: Schema) -> dict[str, Any]:
    """Return the records, enums and fixed types that a schema in normal form defines, by their full names."""
    found: dict[str, Any] = {}
    if isinstance(schema, list):
        for member in schema:
            found |= named_types(member)
    elif isinstance(schema, dict):
        if "name" in schema:
            found[schema["name"]] = schema
        for key in ("items", "values"):
            if key in schema:
                found |= named_types(schema[key])
        for field in schema.get("fields", ()):
            found |= named_types(field["type"])
    return found


def type_of(schema: Schema) -> str:
    """Return the type of a schema: "union", or what stands there; the full name, where that of another is used."""
    if isinstance(schema, list):
        return "union"
    return str(schema["type"] if isinstance(schema, dict) else schema)


def is_primitive(name: str) -> bool:
    """Return whether this is the name of a type that Avro itself knows."""
    return name in _PRIMITIVES


def prepared(schema: Schema) -> Schema:
    """Return a schema in normal form as fastavro wants it for reading and writing."""
    named: dict[str, Any] = {}
    parsed: Any = fastavro.parse_schema(copy.deepcopy(schema), named)
    # Marked as parsed, a schema is not parsed again with every value; by itself fastavro marks only records so.
    copies = {name: dict(named_type) for name, named_type in named.items()}
    for member in parsed if isinstance(parsed, list) else [parsed]:
        if isinstance(member, dict):
            member.setdefault("__fastavro_parsed", True)
            member.setdefault("__named_schemas", copies)
    types = named_types(schema)
    for named_type in named.values():
        for field in named_type.get("fields", ()):
            if "default" in field:
                field["default"] = _python_default(field["default"], field["type"], types)
    return parsed


def _check_unions(schema: Schema) -> None:
    """Refuse unions in which fastavro would write bytes as an array of numbers."""
    if isinstance(schema, list):
        kinds = [type_of(member) for member in schema]
        after_array = kinds[kinds.index("array") :] if "array" in kinds else []
        if "bytes" in after_array or "fixed" in after_array:
            raise SerializationError(
                f"in the union {as_text(schema)} bytes would be taken for an array. Put the array at its end"
            )
        for member in schema:
            _check_unions(member)
    elif isinstance(schema, dict):
        for key in ("items", "values"):
            _check_unions(schema.get(key))
        for field in schema.get("fields", ()):
            _check_unions(field["type"])


def _python_default(default: Any, schema: Schema, types: Mapping[str, Any]) -> Any:
    """Turn a default as JSON has it into a value to be written; fastavro would write the text for bytes."""
    if isinstance(schema, str) and schema in types:
        schema = types[schema]
    kind = type_of(schema)
    if kind == "union":
        return _union_default(default, schema, types)
    if kind in ("bytes", "fixed"):
        return default.encode("latin-1") if isinstance(default, str) else default
    if kind == "array":
        return [_python_default(item, schema["items"], types) for item in default]
    if kind == "map":
        return {key: _python_default(value, schema["values"], types) for key, value in default.items()}
    if kind == "record":
        fields = {field["name"]: field["type"] for field in schema["fields"]}
        return {name: _python_default(value, fields[name], types) for name, value in default.items() if name in fields}
    return float(default) if kind in ("float", "double") else default


def _union_default(default: Any, members: list[Any], types: Mapping[str, Any]) -> Any:
    for member in members:  # the first by Avro's rules; fastavro takes the others, too
        kind = type_of(types.get(member, member) if isinstance(member, str) else member)
        if (kind == "null") is (default is None) and isinstance(default, str) is (
            kind in ("string", "bytes", "fixed", "enum")
        ):
            return _python_default(default, member, types)
    return default


def _normal(parsed: Any) -> Schema:
    if isinstance(parsed, list):
        return [_normal(member) for member in parsed]
    if not isinstance(parsed, dict):
        return parsed
    kind = "record" if parsed["type"] == "error" else parsed["type"]
    normal: dict[str, Any] = {"type": kind}
    for key in ("name", "symbols", "size", *_OF_LOGICAL_TYPES):
        if key in parsed:
            normal[key] = parsed[key]
    if kind == "enum" and "default" in parsed:
        normal["default"] = parsed["default"]
    if "name" in parsed and parsed.get("aliases"):
        namespace = parsed["name"].rpartition(".")[0]
        normal["aliases"] = [
            alias if "." in alias or not namespace else f"{namespace}.{alias}" for alias in parsed["aliases"]
        ]
    for key in ("items", "values"):
        if key in parsed:
            normal[key] = _normal(parsed[key])
    if "fields" in parsed:
        normal["fields"] = [_normal_field(field) for field in parsed["fields"]]
    return kind if set(normal) == {"type"} else normal


def _normal_field(field: dict[str, Any]) -> dict[str, Any]:
    normal = {"name": field["name"], "type": _normal(field["type"])}
    return normal | {key: field[key] for key in ("default", "aliases") if key in field}

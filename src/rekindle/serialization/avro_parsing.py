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
    """Give a schema in normal form.

    Args:
        schema: A schema as JSON gives it, or as text.

    Raises:
        SerializationError: It is no Avro schema.
    """
    try:
        if isinstance(schema, str) and schema.lstrip().startswith(("{", "[", '"')):
            schema = json.loads(schema)
        return _normal(fastavro.parse_schema(copy.deepcopy(schema)))
    except Exception as error:
        raise SerializationError(f"this is no Avro schema: {type(error).__name__}: {error}: {schema!r:.300}") from error


def as_text(schema: Schema) -> str:
    """Write a schema in normal form, always in the same way."""
    return json.dumps(schema, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def as_written(schema: Schema) -> Schema:
    """Give that part of a schema in normal form which decides what bytes mean: no defaults and no aliases."""
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
    """Give a schema in normal form by which numbers, strings and bytes are read as such, whatever they stand for."""
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
    """Give the records, enums and fixed types that a schema in normal form defines, by their full names."""
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
    """Give the type of a schema: "union", or what stands there; the full name, where that of another is used."""
    if isinstance(schema, list):
        return "union"
    return str(schema["type"] if isinstance(schema, dict) else schema)


def is_primitive(name: str) -> bool:
    """Return whether this is the name of a type that Avro itself knows."""
    return name in _PRIMITIVES


def prepared(schema: Schema) -> Schema:
    """Give a schema in normal form as fastavro wants it for reading and writing."""
    parsed = fastavro.parse_schema(copy.deepcopy(schema))
    types = named_types(schema)
    for record in _parsed_records(parsed):
        for field in record["fields"]:
            if "default" in field:
                field["default"] = _python_default(field["default"], field["type"], types)
    return parsed


def _parsed_records(parsed: Any) -> list[dict[str, Any]]:
    """Give the records in what fastavro made of a schema, which holds some of them twice."""
    records: dict[int, dict[str, Any]] = {}

    def visit(node: Any) -> None:
        if isinstance(node, list):
            for member in node:
                visit(member)
        elif isinstance(node, dict) and id(node) not in records:
            if "fields" in node:
                records[id(node)] = node
                for field in node["fields"]:
                    visit(field["type"])
            for key in ("items", "values"):
                visit(node.get(key))
            for named in node.get("__named_schemas", {}).values():
                visit(named)

    visit(parsed)
    return list(records.values())


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

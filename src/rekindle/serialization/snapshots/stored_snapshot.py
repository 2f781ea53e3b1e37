"""Snapshots of serializers as bytes: the class's name, the version, and what the snapshot itself wrote. No pickle."""

from __future__ import annotations

import importlib
import operator
import sys
from typing import Any

from rekindle.exceptions import SerializationError, SerializerSnapshotError
from rekindle.serialization.snapshots.snapshot_aliases import current_name
from rekindle.types.data_views import DataInputView, DataOutputView
from rekindle.types.serializer_snapshot import TypeSerializerSnapshot

_MAGIC = b"RKSS"
_FORMAT = 1


def snapshot_to_bytes(snapshot: TypeSerializerSnapshot[Any]) -> bytes:
    """Write a snapshot.

    Raises:
        SerializerSnapshotError: Nobody could read it back.
    """
    output = DataOutputView()
    output.write(_MAGIC)
    output.write_byte(_FORMAT)
    write_snapshot(snapshot, output)
    return output.getvalue()


def snapshot_from_bytes(data: bytes) -> TypeSerializerSnapshot[Any]:
    """Read a snapshot.

    Raises:
        SerializerSnapshotError: Its class is gone, or knows only older versions, or the bytes are damaged.
    """
    source = DataInputView(data)
    try:
        if source.read_fully(len(_MAGIC)) != _MAGIC:
            raise SerializerSnapshotError("this is not a snapshot of a serializer: its first bytes are wrong")
        version = source.read_byte()
        if version != _FORMAT:
            raise SerializerSnapshotError(
                f"the snapshot of a serializer is of format {version}, and this version of Rekindle reads {_FORMAT}; "
                "restore with the version that wrote it, or a newer one"
            )
        snapshot = read_snapshot(source)
    except SerializationError as error:
        raise SerializerSnapshotError(f"the snapshot of a serializer is damaged: {error}") from error
    if source.read(1):
        raise SerializerSnapshotError(
            f"the snapshot of a serializer is damaged: there are bytes after what {type(snapshot).__name__} reads"
        )
    return snapshot


def write_snapshot(snapshot: TypeSerializerSnapshot[Any], output: DataOutputView) -> None:
    """Write a snapshot into a stream, such as that of the snapshot it is nested in."""
    output.write_utf(_writable_name(snapshot))
    output.write_int(snapshot.get_current_version())
    body = DataOutputView()
    snapshot.write_snapshot(body)
    output.write_sized(body.getvalue())


def read_snapshot(source: DataInputView) -> TypeSerializerSnapshot[Any]:
    """Read a snapshot from a stream."""
    name = source.read_utf()
    version = source.read_int()
    body = DataInputView(source.read_sized())
    snapshot = _instance(name)
    if version > snapshot.get_current_version():
        raise SerializerSnapshotError(
            f"the snapshot {name} is of version {version}, and the class here reads versions up to "
            f"{snapshot.get_current_version()}: a newer program wrote it. Restore with that program"
        )
    try:
        snapshot.read_snapshot(version, body)
    except (SerializationError, SerializerSnapshotError):
        raise
    except Exception as error:
        raise SerializerSnapshotError(
            f"the snapshot {name} of version {version} cannot be read: {type(error).__name__}: {error}. Let "
            f"{type(snapshot).__name__}.read_snapshot read what that version wrote"
        ) from error
    if body.read(1):
        raise SerializationError(f"{name} left bytes of its snapshot unread")
    return snapshot


def _writable_name(snapshot: TypeSerializerSnapshot[Any]) -> str:
    kind = type(snapshot)
    if not issubclass(kind, TypeSerializerSnapshot):
        raise SerializerSnapshotError(
            f"{snapshot!r} cannot be a serializer's snapshot: it is a {kind.__name__}. Let snapshot_configuration() "
            "return a TypeSerializerSnapshot"
        )
    if "." in kind.__qualname__:
        where = "inside a function" if "<locals>" in kind.__qualname__ else "inside another class"
        raise SerializerSnapshotError(
            f"{kind.__qualname__} of module {kind.__module__} cannot be a serializer's snapshot: it is defined "
            f"{where}, and could not be found by its name later. Define it at the top level of a module"
        )
    name = f"{kind.__module__}:{kind.__qualname__}"
    if _found(name) is not kind:
        raise SerializerSnapshotError(
            f"{kind.__qualname__} cannot be a serializer's snapshot: it is not found as {kind.__qualname__} in module "
            f"{kind.__module__}. Define it at the top level of a module, under its own name"
        )
    _instance_of(kind, name)
    return name


def _instance(name: str) -> TypeSerializerSnapshot[Any]:
    current = current_name(name)
    kind = _found(current)
    if kind is None:
        renamed = "" if current == name else f", which is known as {current} now,"
        raise SerializerSnapshotError(
            f"the snapshot of a serializer is of class {name}{renamed} and there is no such class any more. Bring it "
            "back, or say what it is called now with rekindle.serialization.register_snapshot_alias"
        )
    if not (isinstance(kind, type) and issubclass(kind, TypeSerializerSnapshot)):
        raise SerializerSnapshotError(
            f"{current} is not a TypeSerializerSnapshot, but a serializer's snapshot names it"
        )
    return _instance_of(kind, current)


def _instance_of(kind: type[TypeSerializerSnapshot[Any]], name: str) -> TypeSerializerSnapshot[Any]:
    try:
        return kind()
    except Exception as error:
        raise SerializerSnapshotError(
            f"{name} cannot be a serializer's snapshot: it has no constructor without arguments ({error}). Give its "
            "arguments defaults, and read them in read_snapshot"
        ) from error


def _found(name: str) -> Any:
    module, _, qualified = name.partition(":")
    try:
        loaded = sys.modules.get(module) or importlib.import_module(module)
        return operator.attrgetter(qualified)(loaded)
    except (ImportError, AttributeError, ValueError, TypeError):
        return None
    except Exception as error:
        raise SerializerSnapshotError(
            f"the module {module}, which has the snapshot of a serializer, cannot be imported: "
            f"{type(error).__name__}: {error}"
        ) from error

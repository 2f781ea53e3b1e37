"""The fields of a class of the user: their names, types, and what they start as where state has no value for them."""

from __future__ import annotations

import dataclasses
import sys
import types
import typing
from collections.abc import Callable
from typing import Any

import msgspec

from rekindle.base.annotations import own_annotations
from rekindle.exceptions import SerializationError
from rekindle.serialization.classes.class_names import ClassName
from rekindle.serialization.classes.zero_values import zero_value
from rekindle.serialization.encodings.pickle_serializer import PickleSerializer
from rekindle.serialization.serializer_of import serializer_of
from rekindle.types.annotations import type_of_annotation
from rekindle.types.type_serializer import TypeSerializer

_NO_DEFAULT = object()
_KEPT = "__rekindle_annotations__"


@dataclasses.dataclass(frozen=True, slots=True)
class ClassField:
    """Describe a field of a class.

    Attributes:
        name: Its name.
        annotation: Its annotation, resolved; Any, if it cannot be.
        initial: Makes the value it has in an instance that was written before the field was added.
    """

    name: str
    annotation: Any
    initial: Callable[[], Any]

    def initial_text(self) -> str:
        """Return what the field starts as."""
        try:
            return repr(self.initial())
        except Exception as error:
            return f"what its default_factory gives, which just raised {type(error).__name__}"


def fields_of_dataclass(cls: type) -> list[ClassField]:
    """Return the fields of a dataclass in the order in which they are declared."""
    annotations = _annotations(cls)
    fields = []
    for field in dataclasses.fields(cls):
        factory: Any = field.default_factory
        default = _NO_DEFAULT if is_missing(field.default) else field.default
        fields.append(_field(field.name, annotations, default, None if is_missing(factory) else factory))
    return fields


def is_missing(default: Any) -> bool:
    """Return whether a field has no such default.

    In a class that came from another process what stands for a missing default is not the one object that stands for it
    here.
    """
    return isinstance(default, type(dataclasses.MISSING))


def fields_of_struct(cls: type[msgspec.Struct]) -> list[ClassField]:
    """Return the fields of a ``msgspec.Struct``, those that are given by keyword only after the others."""
    annotations = _annotations(cls)
    names = cls.__struct_fields__
    defaults: Any = cls.__struct_defaults__
    fields = []
    for name, given in zip(names, (msgspec.NODEFAULT,) * (len(names) - len(defaults)) + defaults, strict=True):
        default = _NO_DEFAULT if given is msgspec.NODEFAULT else given
        # A factory is marked by a class that msgspec keeps to itself.
        factory = getattr(given, "factory", None) if type(given).__module__ == "msgspec._core" else None
        fields.append(_field(name, annotations, default, factory))
    return fields


def serializer_of_field(field: ClassField, owner: ClassName) -> TypeSerializer[Any]:
    """Return the serializer of what a field holds when it is not None.

    Raises:
        SerializationError: The type of the field has none; the field is named.
    """
    try:
        type_info = type_of_annotation(_without_none(field.annotation))
        return PickleSerializer() if type_info is None else serializer_of(type_info)
    except (SerializationError, TypeError, ValueError) as error:
        raise SerializationError(f"field {field.name!r} of {owner} cannot be serialized: {error}") from error


def _field(name: str, annotations: dict[str, Any], default: Any, factory: Callable[[], Any] | None) -> ClassField:
    annotation = annotations.get(name, Any)
    if factory is not None:
        initial = factory
    elif default is not _NO_DEFAULT:
        initial = lambda: default  # noqa: E731
    else:
        initial = zero_value(annotation)
    return ClassField(name, annotation, initial)


def keep_annotations(cls: type) -> None:
    """Let a class take along what its annotations mean, to a process where its module is not, nor the names in them.

    Classes of a script go to the slots in this way: what the script imports for annotations is unknown there.
    """
    if dataclasses.is_dataclass(cls) or issubclass(cls, msgspec.Struct):
        setattr(cls, _KEPT, _own_annotations(cls, cls))


def _annotations(cls: type) -> dict[str, Any]:
    """Return the annotations of a class and its bases, resolved; Any for those that cannot be."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        kept = base.__dict__.get(_KEPT)
        found |= _own_annotations(base, cls) if kept is None else kept
    return found


def _own_annotations(base: type, cls: type) -> dict[str, Any]:
    """Resolve the annotations of one class, one by one: one that cannot be resolved spoils no other."""
    found: dict[str, Any] = {}
    module = sys.modules.get(base.__module__)
    # As Python does it: names of the module come before those of the class, whose fields may be called like types.
    module_names = {**(vars(module) if module else {}), base.__name__: base}
    class_names = {cls.__name__: cls, **vars(base)}
    for name, annotation in own_annotations(base).items():
        holder = types.SimpleNamespace(__annotations__={name: annotation})
        try:
            found[name] = typing.get_type_hints(holder, class_names, module_names, include_extras=True)[name]
        except Exception:  # whatever evaluating it raises, it says nothing about the type
            found[name] = Any
    return found


def _without_none(annotation: Any) -> Any:
    """Return what an optional type holds; every field may be None."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        members = [member for member in typing.get_args(annotation) if member is not types.NoneType]
        return typing.Union[tuple(members)]  # noqa: UP007 - made of as many as there are
    return annotation

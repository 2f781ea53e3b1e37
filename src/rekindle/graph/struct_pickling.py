"""Classes of ``msgspec.Struct`` that a script defines, on their way to the slots.

cloudpickle makes a class of such a script anew where it is unpickled, and adds what belongs to it afterwards. A Struct
has to know its fields when it is made: it would have none. So it is made of its fields here, and gets its methods
afterwards, which may refer to the class.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from types import FunctionType
from typing import Any

import cloudpickle
import msgspec

from rekindle.base.annotations import make_portable, portable_annotations

_StructMeta: Any = type(msgspec.Struct)
_OPTIONS = (
    "frozen",
    "eq",
    "order",
    "array_like",
    "gc",
    "repr_omit_defaults",
    "omit_defaults",
    "forbid_unknown_fields",
    "weakref",
    "dict",
    "cache_hash",
    "tag",
    "tag_field",
)
_MADE_ANEW = frozenset(
    {
        "__annotate_func__",
        "__annotations__",
        "__annotations_cache__",
        "__dict__",
        "__doc__",
        "__match_args__",
        "__module__",
        "__qualname__",
        "__slots__",
        "__weakref__",
    }
)
_POST_INIT = "__post_init__"
_CARRIED_POST_INIT = "__carried_post_init__"


def dumps(what: object) -> bytes:
    """Pickle something for a slot: by value, where it is of the user's script."""
    buffer = io.BytesIO()
    _Pickler(buffer, protocol=5).dump(what)
    return buffer.getvalue()


class _Pickler(cloudpickle.CloudPickler):  # type: ignore[misc]
    """Pickle as cloudpickle does, but for structs, and for functions whose annotations cannot be evaluated."""

    def reducer_override(self, obj: Any) -> Any:
        """Return how an object is pickled."""
        if type(obj) is _StructMeta and obj.__module__ == "__main__":
            return _made, _recipe(obj), _methods(obj), None, None, _add_methods
        try:
            return super().reducer_override(obj)
        except Exception:
            if type(obj) is not FunctionType:
                raise
        make_portable(obj)
        return super().reducer_override(obj)


def _recipe(cls: Any) -> tuple[Any, ...]:
    own = portable_annotations(cls)
    config = cls.__struct_config__
    options = {option: getattr(config, option) for option in _OPTIONS if hasattr(config, option)}
    options["rename"] = dict(zip(cls.__struct_fields__, cls.__struct_encode_fields__, strict=True))
    options["kw_only"] = bool(own) and not set(own) & set(cls.__match_args__)
    namespace: dict[str, Any] = {
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
        "__annotations__": dict(own),
    }
    defaults: tuple[Any, ...] = cls.__struct_defaults__
    with_default = cls.__struct_fields__[len(cls.__struct_fields__) - len(defaults) :]
    factories: dict[str, Callable[[], Any]] = {}
    for name, default in zip(with_default, defaults, strict=True):
        if name not in own or default is msgspec.NODEFAULT:
            continue
        if type(default).__module__ == "msgspec._core":  # what marks a factory, and cannot be pickled
            factories[name] = default.factory
        else:
            namespace[name] = default
    return cls.__name__, cls.__bases__, namespace, factories, options, _POST_INIT in cls.__dict__


def _made(
    name: str,
    bases: tuple[type, ...],
    namespace: dict[str, Any],
    factories: dict[str, Callable[[], Any]],
    options: dict[str, Any],
    has_post_init: bool,
) -> Any:
    namespace = {**namespace, **{name: msgspec.field(default_factory=factory) for name, factory in factories.items()}}
    if has_post_init:
        namespace[_POST_INIT] = _post_init  # msgspec looks for it when the class is made
    return _StructMeta(name, bases, namespace, **options)


def _post_init(self: Any) -> None:
    getattr(self, _CARRIED_POST_INIT)()


def _methods(cls: Any) -> dict[str, Any]:
    found = {
        name: value
        for name, value in vars(cls).items()
        if name not in _MADE_ANEW and name not in cls.__struct_fields__ and not name.startswith("__struct_")
    }
    if _POST_INIT in found:
        found[_CARRIED_POST_INIT] = found.pop(_POST_INIT)
    return found


def _add_methods(cls: Any, methods: dict[str, Any]) -> None:
    for name, value in methods.items():
        setattr(cls, name, value)

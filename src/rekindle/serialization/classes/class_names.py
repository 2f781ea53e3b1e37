"""Classes of the user by their names: how snapshots of serializers remember a class, and find it again."""

from __future__ import annotations

import importlib
import operator
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

from rekindle.exceptions import SerializerSnapshotError
from rekindle.serialization.encodings.stand_ins import is_stand_in, stand_ins_allowed
from rekindle.types.data_views import DataInputView, DataOutputView

# Classes that serializers were made for. A job may carry classes with it that no module of the process holds.
_CLASSES_IN_USE: WeakValueDictionary[ClassName, type] = WeakValueDictionary()


_OLD_VERSIONS_ALLOWED: ContextVar[bool] = ContextVar("old versions of classes allowed", default=False)


@dataclass(frozen=True, slots=True)
class ClassName:
    """Identify a class of the user, in all versions of it.

    Attributes:
        module: The name of its module.
        qualified: Its qualified name in that.
    """

    module: str
    qualified: str

    @staticmethod
    def of(cls: type) -> ClassName:
        """Return the name of a class."""
        return ClassName(cls.__module__, cls.__qualname__)

    def write(self, output: DataOutputView) -> None:
        """Write the name into a snapshot."""
        output.write_utf(self.module)
        output.write_utf(self.qualified)

    @staticmethod
    def read(source: DataInputView) -> ClassName:
        """Read a name from a snapshot."""
        return ClassName(source.read_utf(), source.read_utf())

    def __str__(self) -> str:
        return f"{self.module}.{self.qualified}"


def note_class_in_use(cls: type) -> None:
    """Remember a class, in case no module has it."""
    if not is_stand_in(cls):
        _CLASSES_IN_USE[ClassName.of(cls)] = cls


def class_here(name: ClassName) -> type | None:
    """Find a class in its module, or among those that came with the job; None if it is not there."""
    cls = _in_module(name)
    if cls is None and _may_be_carried(name):
        cls = _CLASSES_IN_USE.get(name)
    return cls if isinstance(cls, type) else None


def class_named(name: ClassName, stand_in: Callable[[str, str], type] | None = None) -> type:
    """Find a class.

    Args:
        name: Its name.
        stand_in: Makes one that stands in for it where that is allowed, given its module and qualified name.

    Raises:
        SerializerSnapshotError: It is gone.
    """
    cls = class_here(name)
    if cls is not None:
        return cls
    if stand_in is not None and stand_ins_allowed():
        return stand_in(name.module, name.qualified)
    raise SerializerSnapshotError(
        f"state was written with the class {name}, and there is no such class any more. Bring it back under this name, "
        "at least until the state is no longer needed"
    )


def require_lasting_name(cls: type) -> None:
    """Raise if a later program could not find a class by its name.

    Raises:
        SerializerSnapshotError: The class is local, or another one stands in its place.
    """
    name = ClassName.of(cls)
    if is_stand_in(cls):
        return
    if "<locals>" in name.qualified:
        raise SerializerSnapshotError(
            f"the class {name.qualified} of module {name.module} cannot be a type of state: it is defined inside a "
            "function, and could not be found by its name later. Define it at the top level of a module"
        )
    found = _in_module(name)
    if found is cls or _OLD_VERSIONS_ALLOWED.get():
        return
    if found is None and _may_be_carried(name):
        return
    stands_there = "nothing has that name" if found is None else "another class of that name stands there"
    raise SerializerSnapshotError(
        f"the class {name.qualified} of module {name.module} cannot be a type of state: in the module {stands_there}, "
        "so that a later program would not find the class. Define it at the top level of the module, under its own name"
    )


@contextmanager
def old_versions_of_classes() -> Iterator[None]:
    """Let classes be types of state meanwhile in whose place the module has another: older versions, in a test."""
    token = _OLD_VERSIONS_ALLOWED.set(True)
    try:
        yield
    finally:
        _OLD_VERSIONS_ALLOWED.reset(token)


def _may_be_carried(name: ClassName) -> bool:
    """Return whether a class that is not found may have come with the job, and will come with the next one."""
    return name.module == "__main__" or name.module not in sys.modules


def _in_module(name: ClassName) -> Any:
    try:
        module = sys.modules.get(name.module) or importlib.import_module(name.module)
        return operator.attrgetter(name.qualified)(module)
    except (ImportError, AttributeError, ValueError, TypeError):
        return None

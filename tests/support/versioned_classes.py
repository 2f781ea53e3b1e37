"""Classes as programs of different age have them: under one name, in one module."""

from __future__ import annotations

import dataclasses
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

MODULE = "app_that_evolves"


class Versions:
    """Define classes; the last one of a name is what the module has."""

    def __init__(self, module: types.ModuleType) -> None:
        self.module = module

    def dataclass(self, name: str, fields: list[Any], **options: Any) -> Any:
        """Define a dataclass of fields as ``dataclasses.make_dataclass`` takes them."""
        namespace = {"__module__": MODULE, "__qualname__": name}
        return self._defined(name, dataclasses.make_dataclass(name, fields, namespace=namespace, **options))

    def struct(self, name: str, fields: list[Any], **options: Any) -> Any:
        """Define a struct of fields as ``msgspec.defstruct`` takes them."""
        return self._defined(name, msgspec.defstruct(name, fields, module=MODULE, **options))

    def remove(self, name: str) -> None:
        """Take a class away."""
        delattr(self.module, name)

    def _defined(self, name: str, cls: type) -> type:
        cls.__module__ = MODULE
        setattr(self.module, name, cls)
        return cls


@contextmanager
def versioned_classes() -> Iterator[Versions]:
    """Yield a module for classes, as long as it is needed."""
    module = sys.modules[MODULE] = types.ModuleType(MODULE)
    try:
        yield Versions(module)
    finally:
        del sys.modules[MODULE]

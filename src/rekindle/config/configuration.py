"""Key/value pairs that configure a job. Which keys mean something is told by ``options``."""

from __future__ import annotations

import base64
import builtins
from collections.abc import Mapping
from typing import Any, TypeVar

from rekindle.config.config_options import ConfigOption
from rekindle.config.configuration_origin import Origin
from rekindle.config.list_values import parse_list
from rekindle.config.option_values import parse_bool, parse_float, parse_int, parse_string
from rekindle.exceptions import ConfigurationError

__all__ = ["Configuration"]

T = TypeVar("T")
Value = str | bool | int | float | bytes


class Configuration:
    """Store key/value pairs; a value keeps the type it was set with and is read as any type it fits.

    What was read from a file, the environment or a command line also keeps where it was written.
    """

    __slots__ = ("_origins", "_values")

    def __init__(self, other: Configuration | None = None) -> None:
        self._values: dict[str, Value] = {} if other is None else dict(other._values)
        self._origins: dict[str, Origin] = {} if other is None else dict(other._origins)

    @classmethod
    def from_dict(cls, map: Mapping[str, Any]) -> Configuration:
        """Return a configuration with the entries of a dict; values are text, numbers, or booleans.

        Raises:
            ConfigurationError: A key is no text, or a value is something else.
        """
        configuration = cls()
        for key, value in map.items():
            configuration._put(key, value)
        return configuration

    # -- by option

    def get(self, option: ConfigOption[T]) -> T:
        """Return an option's value, also when it is set under a fallback key; else its default.

        Raises:
            ConfigurationError: The value does not fit the option.
        """
        return option.get_from(self)

    def set(self, option: ConfigOption[Any], value: Any) -> Configuration:
        """Set an option, after checking that the value fits it.

        Raises:
            ConfigurationError: The value does not fit the option.
        """
        parsed = option.parse(value)
        # What has no type of its own here (a Duration, a range of ports) is kept as it was read.
        stored = value if isinstance(value, Value) else parsed
        return self._put(option.key, stored)

    def contains(self, option: ConfigOption[Any]) -> bool:
        """Return whether an option is set, under its key or a fallback key."""
        return option.is_set_in(self)

    # -- by key

    def get_raw(self, key: str) -> Value | None:
        """Return a value as it was set, ``None`` when it was not."""
        return self._values.get(key)

    def origin_of(self, key: str) -> Origin | None:
        """Return where a value was written; ``None`` when a program set it, or nobody."""
        return self._origins.get(key)

    def put_from(self, origin: Origin, key: str, value: Value) -> Configuration:
        """Set a value, and where it was written."""
        self._put(key, value)
        self._origins[key] = origin
        return self

    def get_string(self, key: str, default_value: str) -> str:
        """Return a value as text, or the default when there is none."""
        value = self._values.get(key)
        return default_value if value is None else _as_text(value, key)

    def set_string(self, key: str, value: str) -> Configuration:
        """Set a value given as text."""
        return self._put(key, value, str)

    def get_integer(self, key: str, default_value: int) -> int:
        """Return a value as a whole number, or the default when there is none."""
        value = self._values.get(key)
        return default_value if value is None else parse_int(value, key)

    def set_integer(self, key: str, value: int) -> Configuration:
        """Set a value given as a whole number."""
        return self._put(key, value, int)

    def get_boolean(self, key: str, default_value: bool) -> bool:
        """Return a value as a boolean, or the default when there is none."""
        value = self._values.get(key)
        return default_value if value is None else parse_bool(value, key)

    def set_boolean(self, key: str, value: bool) -> Configuration:
        """Set a value given as a boolean."""
        return self._put(key, value, bool)

    def get_float(self, key: str, default_value: float) -> float:
        """Return a value as a float, or the default when there is none."""
        value = self._values.get(key)
        return default_value if value is None else parse_float(value, key)

    def set_float(self, key: str, value: float) -> Configuration:
        """Set a value given as a number."""
        return self._put(key, parse_float(value, key), float)

    def get_bytearray(self, key: str, default_value: bytearray) -> bytearray:
        """Return a value that was set as bytes, or the default when there is none.

        Raises:
            ConfigurationError: The value was set as something else.
        """
        value = self._values.get(key)
        if value is None:
            return bytearray(default_value)
        if not isinstance(value, bytes):
            raise ConfigurationError(
                f"The configuration key {key!r} holds {value!r}, which is not bytes; set it with set_bytearray()."
            )
        return bytearray(value)

    def set_bytearray(self, key: str, value: bytearray) -> Configuration:
        """Set a value given as bytes."""
        return self._put(key, bytes(value), bytes)

    @staticmethod
    def parse_list_value(value: str, standard_yaml: bool = True) -> list[Any]:
        """Return the elements of a list written as YAML (``[a, b]``) or with semicolons (``a;b``).

        Args:
            value: The text.
            standard_yaml: False takes the semicolons only, as Flink did before YAML.
        """
        return parse_list(value, standard_yaml)

    # -- as a whole

    def key_set(self) -> builtins.set[str]:
        """Return all keys that are set."""
        return builtins.set(self._values)

    def contains_key(self, key: str) -> bool:
        """Return whether this very key is set."""
        return key in self._values

    def add_all(self, other: Configuration, prefix: str | None = None) -> Configuration:
        """Add another configuration's entries, with a prefix to their keys if one is given."""
        for key, value in other._values.items():
            self._put((prefix or "") + key, value)
        self._origins.update({(prefix or "") + key: origin for key, origin in other._origins.items()})
        return self

    def add_all_to_dict(self, target_dict: dict[str, Any]) -> None:
        """Add all entries to a dict, with the types they were set with."""
        target_dict.update(self._values)

    def to_dict(self) -> dict[str, str]:
        """Return all entries with their values as text."""
        return {key: _as_text(value, key) for key, value in self._values.items()}

    def remove_config(self, key: str) -> bool:
        """Remove a key, and return whether it was set."""
        self._origins.pop(key, None)
        return self._values.pop(key, None) is not None

    def _put(self, key: str, value: Any, kind: type = object) -> Configuration:
        # A bool is an int to Python; to a configuration it is not.
        misfit_bool = kind is int and isinstance(value, bool)
        fits = isinstance(value, Value) and isinstance(value, kind) and not misfit_bool
        if not isinstance(key, str) or not fits:
            wanted = "a string, number, boolean or bytes" if kind is object else kind.__name__
            raise ConfigurationError(
                f"Cannot set the configuration key {key!r} to {value!r} of type {type(value).__name__}; "
                f"keys are strings, and this value must be {wanted}. To unset a key use remove_config()."
            )
        self._values[key] = value
        self._origins.pop(key, None)
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Configuration:
        return Configuration(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configuration) and self._typed() == other._typed()

    def _typed(self) -> dict[str, tuple[type, Value]]:
        # 1, 1.0 and True are equal in Python, yet three different settings.
        return {key: (type(value), value) for key, value in self._values.items()}

    def __hash__(self) -> int:
        return hash(frozenset(self._values))

    def __str__(self) -> str:
        entries = (f"{key}={_as_text(value, key)}" for key, value in self._values.items())
        return "{" + ", ".join(entries) + "}"

    def __repr__(self) -> str:
        return f"Configuration({self._values!r})"


def _as_text(value: Value, key: str) -> str:
    if isinstance(value, bytes):
        # The form in which YAML carries bytes.
        return f"!!binary |-\n  {base64.b64encode(value).decode()}"
    return parse_string(value, key)

"""Describe configuration options: a key, how its value reads, its default.

    ConfigOptions.key("shop.retries").int_type().default_value(3)

The options that Rekindle itself knows are in ``options``; a program may build its own in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

from rekindle.config.option_values import (
    parse_bool,
    parse_duration_ms,
    parse_enum,
    parse_float,
    parse_int,
    parse_memory_size,
    parse_port_range,
    parse_string,
)
from rekindle.exceptions import ConfigurationError

if TYPE_CHECKING:
    from rekindle.config.configuration import Configuration

__all__ = ["ConfigOption", "ConfigOptions"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class ValueParser(Protocol[T_co]):
    """Read a raw value of a key; raise ``ConfigurationError`` when that is impossible."""

    def __call__(self, value: object, key: str) -> T_co:
        """Return the value that is meant."""
        ...


@dataclass(frozen=True, slots=True)
class ConfigOption(Generic[T]):
    """Describe one configuration parameter. Build it with ``ConfigOptions.key(...)``.

    Attributes:
        key: The name to set it by.
        type_name: How its value reads: ``int``, ``duration``, …
        default: What holds while nobody sets it; ``None`` when there is no default.
        fallback_keys: Other names that are looked up, in order, while ``key`` is not set.
        description: One sentence on what it does.
    """

    key: str
    type_name: str
    default: T
    parser: ValueParser[Any] = field(repr=False, compare=False)
    fallback_keys: tuple[str, ...] = ()
    description: str = field(default="", compare=False)

    def with_description(self, description: str) -> ConfigOption[T]:
        """Return the same option with this description."""
        return replace(self, description=description)

    def with_fallback_keys(self, *keys: str) -> ConfigOption[T]:
        """Return the same option that also answers to these keys."""
        return replace(self, fallback_keys=(*self.fallback_keys, *keys))

    def has_default_value(self) -> bool:
        """Return whether there is a default."""
        return self.default is not None

    def all_keys(self) -> tuple[str, ...]:
        """Return all the names it answers to, the preferred one first."""
        return (self.key, *self.fallback_keys)

    def parse(self, value: object, key: str | None = None) -> T:
        """Return a raw value as this option's type.

        Raises:
            ConfigurationError: The value does not fit; the message names it and the key.
        """
        return cast(T, self.parser(value, key or self.key))

    def get_from(self, configuration: Configuration) -> T:
        """Return what the configuration says, else the default.

        Raises:
            ConfigurationError: The value there does not fit; the message names it, the key, and where it was written.
        """
        key = self.key_in(configuration)
        if key is None:
            return self.default
        try:
            return self.parse(configuration.get_raw(key), key)
        except ConfigurationError as error:
            origin = configuration.origin_of(key)
            if origin is None:
                raise
            raise ConfigurationError(f"{error} It was set by: {origin}") from error

    def key_in(self, configuration: Configuration) -> str | None:
        """Return the name under which the configuration has a value for it; ``None`` when it has none."""
        return next((key for key in self.all_keys() if configuration.contains_key(key)), None)

    def is_set_in(self, configuration: Configuration) -> bool:
        """Return whether the configuration has a value for it, under any of its names."""
        return self.key_in(configuration) is not None


class ConfigOptions:
    """Start building a ``ConfigOption``: ``ConfigOptions.key("a.b").int_type().default_value(3)``."""

    @staticmethod
    def key(key: str) -> ConfigOptions.OptionBuilder:
        """Start building the option with this key."""
        return ConfigOptions.OptionBuilder(key)

    class OptionBuilder:
        """Choose how the option's value reads."""

        def __init__(self, key: str) -> None:
            self._key = key

        def boolean_type(self) -> ConfigOptions.TypedConfigOptionBuilder[bool]:
            """Take ``true`` or ``false``."""
            return self.parsed_type("boolean", parse_bool)

        def int_type(
            self, minimum: int = -(1 << 31), maximum: int = (1 << 31) - 1
        ) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """Take a whole number of 32 bits, or within the given bounds."""
            return self.parsed_type("int", partial(parse_int, minimum=minimum, maximum=maximum))

        def long_type(
            self, minimum: int = -(1 << 63), maximum: int = (1 << 63) - 1
        ) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """Take a whole number of 64 bits, or within the given bounds."""
            return self.parsed_type("long", partial(parse_int, minimum=minimum, maximum=maximum))

        def float_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """Take a number with a fraction."""
            return self.parsed_type("float", parse_float)

        def double_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """Take a number with a fraction."""
            return self.parsed_type("double", parse_float)

        def string_type(self) -> ConfigOptions.TypedConfigOptionBuilder[str]:
            """Take any text."""
            return self.parsed_type("string", parse_string)

        def duration_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """Take a duration such as ``10 s``; the option's value is in milliseconds."""
            return self.parsed_type("duration", parse_duration_ms)

        def memory_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """Take a memory size such as ``64 mb``; the option's value is in bytes."""
            return self.parsed_type("memory", parse_memory_size)

        def port_range_type(self) -> ConfigOptions.TypedConfigOptionBuilder[tuple[int, ...]]:
            """Take ports such as ``9123`` or ``50100-50200``; the option's value is all of them."""
            return self.parsed_type("ports", parse_port_range)

        def enum_type(
            self, choices: Sequence[str], aliases: Mapping[str, str] | None = None
        ) -> ConfigOptions.TypedConfigOptionBuilder[str]:
            """Take one of the choices, or an alias of one; the option's value is the choice."""
            parser = partial(_parse_choice, choices=tuple(choices), aliases=aliases)
            return self.parsed_type("enum", parser)

        def parsed_type(self, type_name: str, parser: ValueParser[T]) -> ConfigOptions.TypedConfigOptionBuilder[T]:
            """Take whatever the parser reads."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, type_name, parser)

    class TypedConfigOptionBuilder(Generic[T]):
        """Choose the option's default; that ends the building."""

        def __init__(self, key: str, type_name: str, parser: ValueParser[T]) -> None:
            self._key = key
            self._type_name = type_name
            self._parser = parser

        def default_value(self, value: T | str) -> ConfigOption[T]:
            """Return the option with this default, given as its type or as text."""
            default = self._parser(value, self._key)
            return ConfigOption(self._key, self._type_name, default, self._parser)

        def no_default_value(self) -> ConfigOption[T | None]:
            """Return the option without a default: while unset it reads as ``None``."""
            option: ConfigOption[T | None] = ConfigOption(self._key, self._type_name, None, self._parser)
            return option


def _parse_choice(value: object, key: str, choices: tuple[str, ...], aliases: Mapping[str, str] | None) -> str:
    return parse_enum(value, choices, key, aliases=aliases)

"""Reads a configuration that is written in YAML: flat keys, nested ones, or both. Pure.

    state.backend.type: rocksdb         the same as         state:
                                                              backend:
                                                                type: rocksdb

Values stay text, as they are written: what ``off`` or ``1:30`` mean is for the option to say, not for YAML. A list is
its elements with commas between; a mapping below a key that is an option of its own, and no beginning of others, is
``key:value`` with commas between. A key without a value is not set.
"""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from rekindle.config.configuration import Configuration
from rekindle.config.configuration_origin import Origin, OriginKind
from rekindle.config.options import known_keys
from rekindle.exceptions import ConfigurationError

__all__ = ["read_configuration"]

_NULL = "tag:yaml.org,2002:null"
_DEEPEST = 50


def read_configuration(text: str, kind: OriginKind, place: str) -> Configuration:
    """Return what a text says, with the line of each value as its origin.

    Args:
        text: The YAML.
        kind: The layer that it belongs to.
        place: The file or the environment variable that it comes from.

    Raises:
        ConfigurationError: It is not YAML, or not a mapping, or has a key twice; the message names place and line.
    """
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _unreadable(kind, place, mark, error.problem or "it is not YAML") from error
    except yaml.YAMLError as error:
        raise _unreadable(kind, place, None, str(error)) from error
    configuration = Configuration()
    if root is None or _is_null(root):
        return configuration
    if not isinstance(root, yaml.MappingNode):
        raise _unreadable(kind, place, root.start_mark, "write 'key: value'")
    for key, value, mark in _flattened(root, "", kind, place, 0):
        earlier = configuration.origin_of(key)
        if earlier is not None:
            raise _unreadable(kind, place, mark, f"the key {key!r} was set in line {earlier.line} already")
        configuration.put_from(Origin(kind, place, mark.line + 1), key, value)
    return configuration


def _flattened(
    mapping: yaml.MappingNode, prefix: str, kind: OriginKind, place: str, depth: int
) -> Iterator[tuple[str, str, yaml.Mark]]:
    if depth > _DEEPEST:
        raise _unreadable(kind, place, mapping.start_mark, "mappings are nested too deeply")
    for name, value in mapping.value:
        if not isinstance(name, yaml.ScalarNode):
            raise _unreadable(kind, place, name.start_mark, "a key is a name")
        key = f"{prefix}{name.value}"
        if isinstance(value, yaml.MappingNode) and not _holds_mapping(key):
            yield from _flattened(value, f"{key}.", kind, place, depth + 1)
        elif isinstance(value, yaml.MappingNode):
            pairs = [(_element(part, kind, place), _element(of, kind, place)) for part, of in value.value]
            yield key, ",".join(f"{part}:{of}" for part, of in pairs), name.start_mark
        elif isinstance(value, yaml.SequenceNode):
            yield key, ",".join(_element(element, kind, place) for element in value.value), name.start_mark
        elif not _is_null(value):
            yield key, value.value, name.start_mark


def _element(node: yaml.Node, kind: OriginKind, place: str) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise _unreadable(kind, place, node.start_mark, "no option takes a list of lists or mappings")
    text = str(node.value)
    if "," in text:
        raise _unreadable(kind, place, node.start_mark, f"{text!r} contains a comma, which separates elements")
    return text


def _holds_mapping(key: str) -> bool:
    """Return whether a mapping below the key is its value, and not a group of further keys."""
    return key in known_keys() and not any(known.startswith(f"{key}.") for known in known_keys())


def _is_null(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag == _NULL


def _unreadable(kind: OriginKind, place: str, mark: yaml.Mark | None, problem: str) -> ConfigurationError:
    origin = Origin(kind, place, None if mark is None else mark.line + 1)
    return ConfigurationError(f"Cannot read the configuration in {origin}: {problem}.")

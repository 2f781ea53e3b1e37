"""Options that come more than once on a command line: the last one holds, as everywhere, and the others are named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rekindle.cli.output import warn


def warned_of(command: Any) -> Any:
    """Let a command warn of options that are given twice and hold one value; give the command back."""
    make_parser = command.make_parser

    def warning_parser(context: Any) -> Any:
        parser = make_parser(context)
        parse_args = parser.parse_args

        def parsed(args: list[str]) -> Any:
            values, rest, order = parse_args(args=args)
            if not context.resilient_parsing:  # as completion parses
                _warn(order, values)
            return values, rest, order

        parser.parse_args = parsed
        return parser

    command.make_parser = warning_parser
    return command


def warn_of_repeated_keys(definitions: Sequence[str]) -> None:
    """Warn of keys that ``-D`` sets more than once, to different values."""
    values: dict[str, set[str]] = {}
    for definition in definitions:
        key, _, value = definition.partition("=")
        values.setdefault(key.strip(), set()).add(value.strip())
    for key, different in values.items():
        if len(different) > 1:
            warn(f"-D {key} is given more than once; the last value holds")


def _warn(order: Sequence[Any], values: dict[str, Any]) -> None:
    times = Counter(parameter.name for parameter in order)
    for parameter in {parameter.name: parameter for parameter in order}.values():
        repeatable = parameter.multiple or parameter.nargs == -1 or getattr(parameter, "is_flag", False)
        if times[parameter.name] > 1 and not repeatable:
            value = values.get(parameter.name)
            warn(f"{max(parameter.opts, key=len)} is given {times[parameter.name]} times; the last one holds: {value}")

"""Help that says what a reader needs: the names of arguments, and not the types that they have in Python."""

from __future__ import annotations

from typing import Any


def plain_arguments(command: Any) -> Any:
    """Let the help of a command name its arguments as PROGRAM and [DIR], without types; give the command back.

    The methods are those of the newest Typer; older ones have others, and need none of this.
    """
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            parameter.display_type_rich = lambda ctx: None
            parameter._usage_display_name = lambda parameter=parameter: _usage(parameter)
    return command


def _usage(parameter: Any) -> str:
    name = parameter.metavar or parameter.name.upper()
    return f"{name if parameter.required else f'[{name}]'}{'' if parameter.nargs == 1 else '...'}"

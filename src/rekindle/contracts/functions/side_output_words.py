"""What a function is told that sends to a side output as in Java."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["YieldsSideOutputs"]


class YieldsSideOutputs:
    """Contexts of functions whose side outputs are yielded: there is no ``output`` as in Flink's Java API."""

    if not TYPE_CHECKING:  # a checker of types shall go on to find misspelt names

        def __getattr__(self, name: str) -> Any:
            """Return the line to write, where one is called that is not there."""
            problem = f"{type(self).__name__!r} object has no attribute {name!r}"
            if name == "output":
                problem = "a context has no output(tag, value), as in PyFlink: write yield tag, value"
            raise AttributeError(problem, name=name, obj=self)

"""JDBC's placeholders in SQL, and those of Python's drivers.

A ``?`` is a placeholder unless it is part of a string, a quoted name or a comment; ``??`` is the question mark of an
operator, as in PostgreSQL's JDBC driver.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rekindle.exceptions import ConfigurationError

_PIECES = re.compile(
    r"""
      (?P<escaped>  \b[eE]' (?: [^'\\] | \\. | '' )* '  )    # E'it\'s'
    | (?P<string>   ' (?: [^'] | '' )* '                )
    | (?P<name>     " (?: [^"] | "" )* " | ` [^`]* `    )
    | (?P<dollar>   (?<![\w$]) \$ (?P<tag> (?: [^\W\d]\w* )? ) \$ .*? \$ (?P=tag) \$ )
    | (?P<line>     -- [^\n]*                           )
    | (?P<comment>  /\*                                 )
    | (?P<open>     ['"`]                               )    # a quote that nothing closes
    | (?P<literal>  \?\?                                )
    | (?P<marker>   \?                                  )
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_ENDS = re.compile(r"/\*|\*/")


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """A statement, cut at its placeholders.

    Attributes:
        sql: The statement as it was given.
        pieces: What stands before, between and after the placeholders.
    """

    sql: str
    pieces: tuple[str, ...]

    @property
    def parameters(self) -> int:
        """Return the number of placeholders."""
        return len(self.pieces) - 1

    def with_markers(self, marker: str) -> str:
        """Return the statement with a driver's placeholders.

        Args:
            marker: ``?``, or ``%s``: then other percent signs are doubled, as drivers with that marker expect.
        """
        pieces = [piece.replace("%", "%%") for piece in self.pieces] if marker == "%s" else self.pieces
        return marker.join(pieces)


def parse_statement(sql: str) -> ParsedStatement:
    """Find the placeholders of a statement.

    Raises:
        ConfigurationError: A string, a quoted name or a comment does not end.
    """
    pieces, piece, position = [], "", 0
    while match := _PIECES.search(sql, position):
        piece += sql[position : match.start()]
        position = match.end()
        match match.lastgroup:
            case "marker":
                pieces.append(piece)
                piece = ""
            case "literal":
                piece += "?"
            case "comment":
                position = _end_of_comment(sql, match.end())
                piece += sql[match.start() : position]
            case "open":
                raise ConfigurationError(f"the quote {match[0]} at character {match.start()} does not end in: {sql}")
            case _:
                piece += match[0]
    pieces.append(piece + sql[position:])
    return ParsedStatement(sql, tuple(pieces))


def _end_of_comment(sql: str, position: int) -> int:
    """Return where a comment ends whose inside begins at a position; comments nest, as in PostgreSQL."""
    depth = 1
    while depth:
        match = _COMMENT_ENDS.search(sql, position)
        if match is None:
            raise ConfigurationError(f"a comment does not end in: {sql}")
        depth += 1 if match[0] == "/*" else -1
        position = match.end()
    return position

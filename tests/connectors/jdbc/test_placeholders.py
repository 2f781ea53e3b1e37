"""Which question marks are placeholders."""

from __future__ import annotations

import pytest

from rekindle.connectors.jdbc.placeholders import parse_statement
from rekindle.exceptions import ConfigurationError


@pytest.mark.parametrize(
    ("sql", "translated", "parameters"),
    [
        ("INSERT INTO t VALUES (?, ?)", "INSERT INTO t VALUES (%s, %s)", 2),
        ("SELECT 1", "SELECT 1", 0),
        ("INSERT INTO t VALUES ('?', ?)", "INSERT INTO t VALUES ('?', %s)", 1),
        ("INSERT INTO t VALUES ('it''s ?', ?)", "INSERT INTO t VALUES ('it''s ?', %s)", 1),
        (r"INSERT INTO t VALUES (E'it\'s ?', ?)", r"INSERT INTO t VALUES (E'it\'s ?', %s)", 1),
        (r"INSERT INTO t VALUES ('\', ?)", r"INSERT INTO t VALUES ('\', %s)", 1),
        ('INSERT INTO "what?" VALUES (?)', 'INSERT INTO "what?" VALUES (%s)', 1),
        ('INSERT INTO "a""?" VALUES (?)', 'INSERT INTO "a""?" VALUES (%s)', 1),
        ("INSERT INTO t VALUES (?::jsonb, ?::int)", "INSERT INTO t VALUES (%s::jsonb, %s::int)", 2),
        ("UPDATE t SET a = ? -- what?\nWHERE b = ?", "UPDATE t SET a = %s -- what?\nWHERE b = %s", 2),
        ("UPDATE t /* ? /* nested? */ ? */ SET a = ?", "UPDATE t /* ? /* nested? */ ? */ SET a = %s", 1),
        ("UPDATE t SET a = $$?$$, b = $x$ ? $$ $x$, c = ?", "UPDATE t SET a = $$?$$, b = $x$ ? $$ $x$, c = %s", 1),
        ("DELETE FROM t WHERE a ?? 'key' AND b = ?", "DELETE FROM t WHERE a ? 'key' AND b = %s", 1),
        ("DELETE FROM t WHERE a ??| ARRAY[?]", "DELETE FROM t WHERE a ?| ARRAY[%s]", 1),
        ("DELETE FROM t WHERE a LIKE '10%' AND b % 2 = ?", "DELETE FROM t WHERE a LIKE '10%%' AND b %% 2 = %s", 1),
        ("INSERT INTO t VALUES (?)", "INSERT INTO t VALUES (%s)", 1),
    ],
)
def test_only_question_marks_outside_of_strings_names_and_comments_are_placeholders(
    sql: str, translated: str, parameters: int
) -> None:
    statement = parse_statement(sql)
    assert statement.with_markers("%s") == translated
    assert statement.parameters == parameters
    assert statement.with_markers("?") == sql.replace("??", "?")


@pytest.mark.parametrize("sql", ["INSERT INTO t VALUES ('?", 'INSERT INTO "t VALUES (?)', "INSERT /* INTO t"])
def test_what_does_not_end_is_refused(sql: str) -> None:
    with pytest.raises(ConfigurationError, match="does not end"):
        parse_statement(sql)

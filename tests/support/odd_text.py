"""Text that nobody means, and that somebody sends."""

from __future__ import annotations

from hypothesis import strategies as st

ODD = [
    "",
    " ",
    "\0",
    "a\0b",
    "/a\nb",
    "\x1b[31mred",
    "\x7f",
    "..",
    "~",
    "-1",
    "--",
    "null",
    "9" * 6_000,
    "x" * 5_000,
    "/" + "x" * 300,
    "/x" * 3_000,
    "[" * 3_000,
    "http://[",
    "://",
    "nobody://knows/this",
    "mailto:somebody",
    "file:",
    "file:relative",
    "C:\\savepoints",
    "%00",
    "%2500",
    "%ff%fe",
    "a?b=c#d",
    "/jobs/../../etc",
    "\u202egnirts",
    "١٢٣",
    "İ" * 32,
    "\ufffe\uffff",
    "🔥" * 100,
]
"""Some that have been trouble somewhere."""

odd_text = st.sampled_from(ODD) | st.text(max_size=40)
"""Anything that can be written in UTF-8."""

any_text = odd_text | st.text(st.characters(categories=["Cs", "Cc", "Lu", "Nd"]), min_size=1, max_size=10)
"""Anything at all, halves of characters included."""

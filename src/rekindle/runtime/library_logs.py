"""What the libraries below Rekindle log about themselves."""

from __future__ import annotations

from logging import NOTSET, WARNING, getLogger


def show_only_warnings_of(library: str) -> None:
    """Keep a library's own business out of the logs of programs that log at INFO, unless they set its level."""
    logger = getLogger(library)
    if logger.level == NOTSET:
        logger.setLevel(WARNING)

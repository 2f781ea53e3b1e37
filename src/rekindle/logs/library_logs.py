"""What the libraries below Rekindle log about themselves."""

from __future__ import annotations

from logging import NOTSET, WARNING, getLogger

from py4j import java_gateway


def show_only_warnings_of(library: str) -> None:
    """Keep a library's own business out of the logs of programs that log at INFO, unless they set its level."""
    logger = getLogger(library)
    if logger.level == NOTSET:
        logger.setLevel(WARNING)


def keep_py4j_to_its_logger() -> None:
    """Let Py4J log by its own logger when Spark is gone: by the root logger it configures logging for all of us."""
    java_gateway.logging = java_gateway.logger

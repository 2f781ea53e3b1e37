"""The command line: ``rekindle``."""

from rekindle.cli.app import main

__all__ = ["main"]

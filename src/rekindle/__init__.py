"""Rekindle: Flink's state and fault tolerance for Spark, in Python."""

from rekindle.program_errors import explain_errors

__version__ = "0.1.0"

explain_errors()

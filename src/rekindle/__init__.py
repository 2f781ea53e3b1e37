"""Rekindle: Flink's state and fault tolerance for Spark, in Python."""

from rekindle.program.program_errors import explain_errors
from rekindle.pyflink_modules import explain_missing_modules

__version__ = "0.1.0"

explain_errors()
explain_missing_modules()

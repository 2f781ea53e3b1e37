"""Rekindle: Flink's state and fault tolerance for Spark, in Python."""

__version__ = "0.1.0"

"""Rows, tuples, lists, maps and arrays."""

"""Databases: a sink that runs a statement for each record."""

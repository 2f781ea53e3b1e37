"""Avro: schemas, their evolution, and records."""

"""Kafka: what reads from it and writes to it."""

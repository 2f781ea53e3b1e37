"""Kafka: topics that Spark reads, and topics that slots write."""

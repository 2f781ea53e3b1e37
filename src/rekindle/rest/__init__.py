"""The REST interface: Flink's paths and JSON shapes."""

"""Files: a source that Spark reads, and a sink that commits with checkpoints."""

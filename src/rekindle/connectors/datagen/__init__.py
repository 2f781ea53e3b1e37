"""A source that makes up its records."""

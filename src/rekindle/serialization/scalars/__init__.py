"""Numbers, strings, bytes and times."""

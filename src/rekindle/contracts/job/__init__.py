"""A job as its client sees it."""

"""Operators of batch jobs: they gather their input and process it key by key when it has ended."""

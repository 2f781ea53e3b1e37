"""Asynchronous requests: many under way at a time, results in order or as they come."""

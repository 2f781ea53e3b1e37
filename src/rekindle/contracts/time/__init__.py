"""Watermarks, and time as functions see it."""

"""Operators of the program's own: their state, timers and output."""

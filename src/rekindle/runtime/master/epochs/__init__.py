"""Epochs: when one begins, how much is read in it, what loops do."""

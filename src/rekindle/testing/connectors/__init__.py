"""Kits that crash a user's connector at every step, and say whether it keeps its promise."""

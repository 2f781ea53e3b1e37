"""Dataclasses, structs and enums of the program, and how they evolve."""

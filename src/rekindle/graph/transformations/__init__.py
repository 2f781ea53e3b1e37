"""Typed descriptions of the operators of a program, from which slots build the operators."""

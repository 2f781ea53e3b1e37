"""Formats of files and messages: the counterpart of ``pyflink.datastream.formats``."""

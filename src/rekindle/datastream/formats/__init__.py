"""Formats of messages: the counterpart of ``pyflink.datastream.formats``."""

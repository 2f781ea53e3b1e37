"""Tests with real services: brokers, databases, object stores."""

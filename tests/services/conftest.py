"""Tests with real services: brokers, databases, object stores."""

from support.services.postgres import postgres as postgres

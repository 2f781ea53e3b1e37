"""A source that makes up its records, as programs import it."""

from __future__ import annotations

from rekindle.connectors.datagen.data_generator_source import (
    DataGeneratorSource,
    GeneratorFunction,
    RateLimiterStrategy,
)

__all__ = ["DataGeneratorSource", "GeneratorFunction", "RateLimiterStrategy"]

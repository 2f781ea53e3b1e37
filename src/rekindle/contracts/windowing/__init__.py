"""Windows, their assigners, triggers and evictors."""

"""Windows: what is in them, when they fire, how they merge."""

"""What was given no type, where a hint, a schema or the values tell it."""

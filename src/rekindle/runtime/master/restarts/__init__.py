"""What a failure means, and what is done about it."""

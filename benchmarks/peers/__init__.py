"""Other systems doing the same work, to measure Rekindle beside them."""

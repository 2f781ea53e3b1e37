"""What Rekindle logs through Python's ``logging``, under the logger ``rekindle``: records, formats, who shows them."""

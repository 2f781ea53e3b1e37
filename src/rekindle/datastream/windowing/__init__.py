"""Windows: what they are, which ones an element belongs to, when they fire, what they drop before they do.

Programs import these names from :mod:`rekindle.datastream.window`.
"""

"""What was given no type: pickle, msgpack, and what hints and values say."""

"""The two encodings that all serializers build on: msgpack, for what has a type, and pickle, for what has none."""

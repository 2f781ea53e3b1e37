"""What is kept of a serializer beside the state that it wrote."""

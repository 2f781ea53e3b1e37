"""Serializers, their snapshots, and how state follows when its type changes."""

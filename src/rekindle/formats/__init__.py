"""Values as text: as Java prints them, as JSON, as lines."""

"""What a slot does to let its state be queried."""

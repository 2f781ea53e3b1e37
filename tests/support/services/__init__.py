"""Real services for tests: each module starts one, and says where it is."""

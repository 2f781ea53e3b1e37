"""How a driver becomes the owner of a job."""

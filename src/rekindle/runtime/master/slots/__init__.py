"""The slots of a job: how they are started and reached."""

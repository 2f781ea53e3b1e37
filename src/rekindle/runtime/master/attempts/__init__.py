"""One attempt at running a job: what decides, and the threads around it."""

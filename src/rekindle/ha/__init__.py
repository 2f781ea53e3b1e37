"""High availability: who owns a job, and what it has committed, in a log that survives drivers."""

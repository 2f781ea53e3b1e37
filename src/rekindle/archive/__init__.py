"""What is kept on disk of jobs, running and ended: a small file for each, in a directory that outlives a login."""

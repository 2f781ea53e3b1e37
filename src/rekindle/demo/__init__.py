"""The demonstration behind ``make demo``: a job that loses a process to SIGKILL and still counts everything once."""

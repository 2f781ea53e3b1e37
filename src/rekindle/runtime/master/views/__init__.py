"""What people see of a job, and what is kept of it."""

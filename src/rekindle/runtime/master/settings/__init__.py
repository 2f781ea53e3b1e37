"""Everything a job is run with, settled from program and configuration before it starts."""

"""How a program tells the command that runs it what becomes of its jobs, and of itself."""

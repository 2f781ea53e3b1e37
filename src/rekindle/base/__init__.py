"""What every part of Rekindle may use: time, sizes, processes and directories of the user."""

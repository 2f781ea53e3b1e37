"""What a program says about its checkpoints and its state backend."""

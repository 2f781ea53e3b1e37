"""What an operator of the program's own is made of."""

"""What the operators of a program are, in words that everybody understands: slots build the operators from them."""

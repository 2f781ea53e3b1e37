"""What every state backend has to do: one class of tests per concern, run against all of them."""

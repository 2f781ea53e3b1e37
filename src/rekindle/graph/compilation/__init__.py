"""From the program to the job that runs, rule by rule. Each rule is a function of what those before it found."""

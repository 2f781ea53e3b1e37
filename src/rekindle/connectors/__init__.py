"""Sources and sinks, each whole in one place: what a program says, what reads or writes in the slots."""

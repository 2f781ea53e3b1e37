"""Options, where their values come from, and the settings of an execution."""

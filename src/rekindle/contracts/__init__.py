"""What a program is made of: functions, state, windows, operators and connectors, as interfaces and values."""

"""Types of records and state: what a program declares, rows, and the interface of serializers."""

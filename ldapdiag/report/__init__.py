"""A diagnosis as text for a terminal, or as JSON for a program."""

"""Socket tables as tools print them: one module per grammar, each with its FORMAT."""

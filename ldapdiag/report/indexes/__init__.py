"""What the index half of a diagnosis says: for a person, for a machine, and as the remedies alone."""

"""Storage: what is safe where, and the remedies for volumes and their layout."""

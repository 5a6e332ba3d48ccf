"""The report of an index audit: as text, as JSON, and the remedies alone."""

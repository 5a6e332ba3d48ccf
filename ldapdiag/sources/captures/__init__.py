"""Captures: evidence found, written and read, with its manifest, and the output of the portable script."""

"""Captures: finding, reading and writing captured evidence, its manifest, and the output of the portable script."""

"""Servers: what differs between directory products, as meaning. One folder per family, each with the same rooms."""

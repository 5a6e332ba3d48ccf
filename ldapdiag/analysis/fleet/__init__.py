"""Servers of one kind side by side: what differs between them, from their access logs."""

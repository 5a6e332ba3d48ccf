"""Idle time: what the path allows, what the server allows, and what to set."""

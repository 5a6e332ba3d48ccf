"""IBM Directory Server: its monitor alone is read."""

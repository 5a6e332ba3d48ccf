"""What an input is, and which format reads it."""

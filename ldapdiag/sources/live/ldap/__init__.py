"""What one session with a directory is made of: its way there, its questions, its answers."""

"""A session with a remote host over ssh, and the collection script that it runs there."""

"""A session with a directory server: connection, queries, answers."""

"""The file of a history: a database of SQLite."""

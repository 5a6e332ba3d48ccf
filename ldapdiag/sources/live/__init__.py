"""Evidence from running hosts and servers."""

"""What this host tells of itself, from /proc: its network namespaces and processes."""

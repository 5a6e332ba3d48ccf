"""The local host: its network namespaces and processes from /proc, its sockets from the kernel."""

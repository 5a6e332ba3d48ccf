"""Remedies on a host that are the same for every product: the kernel, its sockets, a proxy, a process that hangs."""

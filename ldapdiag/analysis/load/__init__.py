"""Limited resources of servers and middleboxes: descriptors, accept queues, conntrack entries."""

"""What a server or a middlebox runs out of: descriptors, queues, table entries."""

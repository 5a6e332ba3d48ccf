"""Storage: the file systems, disks and settings under a directory server."""

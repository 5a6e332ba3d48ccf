"""The volumes under a directory server: which file systems and disks its data is on, and what a power cut loses."""

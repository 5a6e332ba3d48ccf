"""Captures: written and read, packed and unpacked, told by a manifest, and disguised."""

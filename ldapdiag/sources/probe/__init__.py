"""The storage probe: writes, syncs and small files on one volume, within limits, and nothing that remains."""

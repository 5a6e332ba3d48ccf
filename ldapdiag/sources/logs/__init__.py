"""Access logs as bytes: found, put in order, cut into whole records, scanned side by side, followed."""

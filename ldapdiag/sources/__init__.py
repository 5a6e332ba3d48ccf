"""Sources: all reading of evidence, from files, folders, archives, streams and live targets."""

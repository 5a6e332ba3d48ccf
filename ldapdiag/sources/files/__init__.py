"""Files, folders, archives and compressed files, as bytes."""

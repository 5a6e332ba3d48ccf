"""Files, folders, archives, compressed files and streams, as inputs that can be opened again."""

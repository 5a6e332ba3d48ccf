"""Files, folders, archives, compressed files and streams, as reopenable inputs."""

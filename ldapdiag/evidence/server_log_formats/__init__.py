"""The formats of the logs of directory servers."""

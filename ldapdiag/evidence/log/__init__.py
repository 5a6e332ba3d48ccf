"""Access logs: lines -> a Segment (DESIGN 4). Dialects hold grammar; scan.py and merge.py what it adds up to."""

"""Access logs: from lines to a Segment. Dialects read records, scan.py counts them, merge.py joins the chunks."""

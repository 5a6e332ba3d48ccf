"""The world to bytes: all reading of evidence happens here."""

"""Anonymised captures: the same content with pseudonyms."""

"""A capture without names: the same content with pseudonyms."""

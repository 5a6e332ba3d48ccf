"""Bytes to typed facts. Pure: no file, socket, clock or screen is touched here."""

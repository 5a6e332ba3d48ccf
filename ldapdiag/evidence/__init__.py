"""Formats and readers that turn bytes into typed facts. Pure: no access to files, sockets, clock or screen."""

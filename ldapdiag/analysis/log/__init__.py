"""What an access log shows of a server's work."""

"""What directory servers write into their logs, by grammar."""

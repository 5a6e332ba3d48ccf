"""What a dialog with another host is made of, and the script it is had with."""

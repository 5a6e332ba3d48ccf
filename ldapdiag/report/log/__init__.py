"""What access logs say, told: to a terminal, or to a machine."""

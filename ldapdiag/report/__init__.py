"""A diagnosis, told: to a terminal, or to a machine."""

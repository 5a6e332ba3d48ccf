"""Idle limits: of single accounts, and when a product enforces them."""

"""The built-in checks: one file per check. catalogue.py lists them all, index_checks.py those on indexes."""

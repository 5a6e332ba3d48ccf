"""The built-in checks: one file per check. catalogue.py lists them all, index_checks.py and storage_checks.py some."""

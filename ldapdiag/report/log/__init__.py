"""The report of `ldapdiag log`, as text and as JSON."""

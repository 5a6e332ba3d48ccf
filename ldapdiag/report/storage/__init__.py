"""The report of `ldapdiag storage`: as text, and as plain values for the other formats."""

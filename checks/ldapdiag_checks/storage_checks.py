"""The checks that `ldapdiag storage` runs, in the order of a report."""

from ldapdiag_checks import unsafe_writes

CATALOGUE = (unsafe_writes.judge,)

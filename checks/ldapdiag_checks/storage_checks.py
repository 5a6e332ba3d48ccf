"""The checks that `ldapdiag storage` runs, in the order of a report."""

from ldapdiag_checks import commit_bound_writes, unsafe_writes

CATALOGUE = (unsafe_writes.judge, commit_bound_writes.judge)

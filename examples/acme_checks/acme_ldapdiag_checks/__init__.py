"""Checks of one site, in the order of a report."""

from acme_ldapdiag_checks import anonymous_connections

CATALOGUE = (anonymous_connections.judge,)

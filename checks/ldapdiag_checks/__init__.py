"""What we know about sick directories: one file per check, listed in the order a report tells them."""

from ldapdiag_checks import (
    ghost_connections,
)

CATALOGUE = (ghost_connections.judge,)

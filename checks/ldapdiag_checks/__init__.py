"""What we know about sick directories: one file per check, listed in the order a report tells them."""

from ldapdiag_checks import (
    connection_share,
    ghost_connections,
    idle_timeout,
    keepalive_too_slow,
    stranded_connections,
    unreleased_connections,
)

CATALOGUE = (
    ghost_connections.judge,
    idle_timeout.judge,
    keepalive_too_slow.judge,
    stranded_connections.judge,
    unreleased_connections.judge,
    connection_share.judge,
)

"""What we know about sick directories: one file per check, listed in the order a report tells them."""

from ldapdiag_checks import (
    accept_queue_overflow,
    close_wait_backlog,
    connection_share,
    conntrack_table_full,
    descriptor_headroom,
    ghost_connections,
    idle_timeout,
    keepalive_too_slow,
    proxy_held_connections,
    stalled_reader,
    stranded_connections,
    unreleased_connections,
    worker_saturation,
)

CATALOGUE = (
    ghost_connections.judge,
    idle_timeout.judge,
    keepalive_too_slow.judge,
    stranded_connections.judge,
    proxy_held_connections.judge,
    unreleased_connections.judge,
    descriptor_headroom.judge,
    accept_queue_overflow.judge,
    close_wait_backlog.judge,
    stalled_reader.judge,
    worker_saturation.judge,
    conntrack_table_full.judge,
    connection_share.judge,
)

"""The checks that `ldapdiag storage` runs, in the order of a report."""

from ldapdiag_checks import (
    access_time_updates,
    commit_bound_writes,
    fragmented_database,
    io_errors,
    same_volume,
    unsafe_writes,
    unsuited_filesystem,
    volume_full,
)

CATALOGUE = (
    volume_full.judge,
    io_errors.judge,
    unsafe_writes.judge,
    unsuited_filesystem.judge,
    commit_bound_writes.judge,
    same_volume.judge,
    fragmented_database.judge,
    access_time_updates.judge,
)

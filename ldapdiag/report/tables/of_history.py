"""The table of `ldapdiag history`."""

from __future__ import annotations

from ldapdiag.report.table import Table, only_csv, rows_at

RUNS = Table(
    tuple(
        only_csv(
            "name product taken_at recorded_at exit_code crashed counts connections connections_source joined ghosts "
            "stranded severed descriptors_used used_source descriptor_limit limit_source exhausted growth_per_hour "
            "growth_source log_seconds opened binds searches search_seconds opens_per_second binds_per_second"
        )
    ),
    rows_at("servers"),
    within="runs",
)

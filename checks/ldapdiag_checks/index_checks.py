"""The checks that `ldapdiag indexes` runs, in the order of a report."""

from ldapdiag_checks import (
    costly_search,
    harmful_index,
    index_drift,
    index_not_built,
    missing_index,
    missing_server_index,
    missing_vlv_index,
    replica_differs,
    scan_limit_exceeded,
    substring_too_short,
    unindexable_filter,
    unknown_attribute,
    unused_index,
    wrong_answers_possible,
)

ON_INDEXES = (
    wrong_answers_possible.judge,
    missing_index.judge,
    missing_server_index.judge,
    missing_vlv_index.judge,
    index_not_built.judge,
    scan_limit_exceeded.judge,
    unindexable_filter.judge,
    substring_too_short.judge,
    unknown_attribute.judge,
    unused_index.judge,
    index_drift.judge,
    replica_differs.judge,
    harmful_index.judge,
)
"""Those that `ldapdiag diagnose` has from here."""
CATALOGUE = (*ON_INDEXES, costly_search.unconfigured)

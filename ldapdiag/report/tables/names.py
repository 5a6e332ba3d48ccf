"""The names of the tables that each command writes as CSV; the first is the one without --table."""

from __future__ import annotations

from enum import StrEnum


class DiagnosisTable(StrEnum):
    """Tables of `diagnose`."""

    FINDINGS = "findings"
    GHOSTS = "ghosts"
    ACCOUNTS = "accounts"
    VERDICTS = "verdicts"
    GAPS = "gaps"
    EVIDENCE = "evidence"


class IndexTable(StrEnum):
    """Tables of `indexes`."""

    PLAN = "plan"
    SEARCHES = "searches"
    UNUSED = "unused"
    FINDINGS = "findings"
    VERDICTS = "verdicts"
    GAPS = "gaps"
    EVIDENCE = "evidence"


class StorageTable(StrEnum):
    """Tables of `storage`."""

    VOLUMES = "volumes"
    SETTINGS = "settings"
    FILES = "files"
    PROBES = "probes"
    FINDINGS = "findings"
    VERDICTS = "verdicts"
    GAPS = "gaps"
    EVIDENCE = "evidence"


class LogTable(StrEnum):
    """Tables of `log`."""

    SEARCHES = "searches"
    REQUESTERS = "requesters"
    TARGETS = "targets"
    FAILURES = "failures"
    CLIENTS = "clients"
    IDLE_TIMES = "idle-times"
    CLOSES = "closes"
    FAILED_BINDS = "failed-binds"
    TIMELINE = "timeline"
    SILENCES = "silences"
    SERVERS = "servers"
    DIFFERING_SEARCHES = "differing-searches"


OF_SERVERS = frozenset({LogTable.SERVERS, LogTable.DIFFERING_SEARCHES})
"""Tables of `log --by server` alone."""

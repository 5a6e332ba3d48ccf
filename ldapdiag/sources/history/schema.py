"""The tables of a history, by version (PRAGMA user_version).

A new version adds its statements to MIGRATIONS; what is listed there is never changed, because files contain it. Times
are microseconds since 1970, UTC.
"""

from __future__ import annotations

APPLICATION_ID = 0x6C646469
"""PRAGMA application_id of every history: "lddi"."""

FIRST = (
    """
CREATE TABLE run (
  id INTEGER PRIMARY KEY,
  taken INTEGER NOT NULL,
  evidence TEXT NOT NULL UNIQUE,
  recorded INTEGER NOT NULL,
  version TEXT NOT NULL,
  exit_code INTEGER NOT NULL,
  crashed INTEGER NOT NULL,
  critical INTEGER NOT NULL,
  high INTEGER NOT NULL,
  medium INTEGER NOT NULL,
  low INTEGER NOT NULL,
  info INTEGER NOT NULL
)""",
    "CREATE INDEX run_by_time ON run (taken, id)",
    """
CREATE TABLE server (
  run INTEGER NOT NULL,
  name TEXT NOT NULL,
  product TEXT NOT NULL,
  taken INTEGER NOT NULL,
  connections INTEGER,
  connections_source TEXT NOT NULL,
  joined INTEGER,
  descriptors_used INTEGER,
  used_source TEXT NOT NULL,
  descriptor_limit INTEGER,
  limit_source TEXT NOT NULL,
  ghosts INTEGER,
  stranded INTEGER,
  severed INTEGER,
  growth_per_hour REAL,
  growth_source TEXT NOT NULL,
  log_seconds REAL,
  opened INTEGER,
  binds INTEGER,
  searches INTEGER,
  search_seconds REAL,
  PRIMARY KEY (run, name)
) WITHOUT ROWID""",
    """
CREATE TABLE finding (
  id INTEGER PRIMARY KEY,
  server TEXT NOT NULL,
  check_id TEXT NOT NULL,
  digest TEXT NOT NULL,
  UNIQUE (server, check_id, digest)
)""",
    """
CREATE TABLE found (
  run INTEGER NOT NULL,
  finding INTEGER NOT NULL,
  severity TEXT NOT NULL,
  PRIMARY KEY (run, finding)
) WITHOUT ROWID""",
)

SECOND = ("ALTER TABLE server ADD COLUMN exhausted INTEGER",)

MIGRATIONS: tuple[tuple[str, ...], ...] = (FIRST, SECOND)
"""What leads from each version to the next; version 0 is an empty file."""

VERSION = len(MIGRATIONS)

r"""The grammar of slapd's messages about connections that it refused, for its access log and for `diagnose`.

    fd=127 DENIED from unknown (127.0.0.70)
    daemon: accept(8) failed errno=24 (Too many open files)
    daemon: 1024 beyond descriptor table size 1024

What the first one means is in server_log_formats/refusals.py. Source: servers/slapd/daemon.c. The patterns fit verbose
ones, of text and of bytes.
"""

from __future__ import annotations

DENIED = r"fd=(?P<descriptor>\d{1,9})\ DENIED\ from\ \S{1,255}\ \((?P<denied_client>[^\s()]{0,255})\)"
ACCEPT_FAILED = r"daemon:\ accept\(-?\d{1,10}\)\ failed\ errno[=\ ]2[34]\ \("
"""errno 23, 24: the system or the process has no descriptor left (ENFILE, EMFILE)."""
BEYOND_TABLE = r"daemon:\ \d{1,10}\ beyond\ descriptor\ table\ size\ \d{1,10}"

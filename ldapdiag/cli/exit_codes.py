"""Exit codes that several commands share."""

from __future__ import annotations

import signal

FAILED = 2
"""Nothing could be read or written, or the command line is invalid."""
INTERRUPTED = 128 + signal.SIGINT
"""A program ended by Ctrl-C, as shells report it: 130."""

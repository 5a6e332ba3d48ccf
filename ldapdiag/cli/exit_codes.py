"""Exit codes that several commands share."""

from __future__ import annotations

import signal

FAILED = 2
"""Nothing could be read or written, or the command line is invalid."""
INTERRUPTED = 128 + signal.SIGINT
"""A program ended by Ctrl-C, as shells report it: 130; also by another signal that keeps the results so far."""
EXIT_STATUS = {
    0: "The output was written; of checks, no finding has the severity of --fail-on.",
    1: "A finding has at least the severity of --fail-on, a check crashed, or with --strict one was not judged.",
    FAILED: "The command line is invalid, there is no evidence, most of it was passed over, or nothing was written.",
    INTERRUPTED: "Interrupted by Ctrl-C, SIGTERM or SIGHUP; what was read until then is reported.",
}
"""All exit codes of the program, for the manual page; the help of a command has its own."""

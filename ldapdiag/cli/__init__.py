"""The command line: options in, calls out. One file per command; nothing heavy is imported before it is needed."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys

INTERRUPTED = 128 + signal.SIGINT
"""The exit code of a program ended by Ctrl-C, as shells give it: 130."""

OBJECTS = 100_000
"""As many new ones before garbage is looked for: what is imported is none, and looking at it again takes a tenth."""


def main() -> None:
    """Run the command line. Whatever goes wrong ends in one plain line and an exit code, never in a traceback."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not under nohup, which ignores it
        signal.signal(signal.SIGINT, lambda *_: sys.exit(INTERRUPTED))
    gc.set_threshold(OBJECTS)
    atexit.register(gc.freeze)  # what is left has not to be looked through: it ends with the process
    try:
        from ldapdiag.cli.app import app  # noqa: PLC0415  import late: --help must be quick

        app()
    except SystemExit as leaving:
        if leaving.code == INTERRUPTED:
            sys.stderr.write("ldapdiag: interrupted\n")
        raise
    except Exception as error:
        from ldapdiag.report.neutral import neutral  # noqa: PLC0415  import late

        if os.environ.get("LDAPDIAG_TRACEBACK"):
            raise
        sys.stderr.write(
            f"ldapdiag: this is a bug ({type(error).__name__}: {neutral(str(error))}); "
            "set LDAPDIAG_TRACEBACK=1 to see where\n"
        )
        sys.exit(2)

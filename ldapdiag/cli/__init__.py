"""The command line: options in, calls out. One file per command; nothing heavy is imported before it is needed."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line. Whatever goes wrong ends in one plain line and an exit code, never in a traceback."""
    from ldapdiag.cli.app import app  # noqa: PLC0415  import late: --help must be quick

    try:
        app()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except KeyboardInterrupt:
        sys.exit("ldapdiag: interrupted")
    except Exception as error:
        if os.environ.get("LDAPDIAG_TRACEBACK"):
            raise
        sys.stderr.write(
            f"ldapdiag: this is a bug ({type(error).__name__}: {error}); set LDAPDIAG_TRACEBACK=1 to see where\n"
        )
        sys.exit(2)

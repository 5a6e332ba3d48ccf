"""The command line: parses options and calls the program. One file per command; heavy imports are late."""

from __future__ import annotations

import atexit
import gc
import os
import sys

GC_THRESHOLD = 100_000
"""New objects between two garbage collections. Imports create many and no garbage; scanning them costs a tenth."""
MOST_DIGITS = 4
"""Of a size of the terminal in the environment."""


def main() -> None:
    """Run the command line; `--format nagios` has exit codes of its own."""
    if "nagios" in " ".join(sys.argv):
        from ldapdiag.cli import plugin  # noqa: PLC0415  import late

        if plugin.is_asked(sys.argv):
            plugin.run(run)
    run()


def run() -> None:
    """Run the command line. Every failure ends in one plain line and an exit code, never in a traceback."""
    try:
        _run()
    except KeyboardInterrupt:  # in the first imports
        sys.stderr.write("ldapdiag: interrupted\n")
        sys.exit(130)


def _run() -> None:
    import signal  # noqa: PLC0415  what is imported before `run` ends in a traceback at Ctrl-C

    from ldapdiag.cli.exit_codes import FAILED, INTERRUPTED  # noqa: PLC0415  as signal
    from ldapdiag.cli.postponed_modules import postponed  # noqa: PLC0415  as signal

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not under nohup, which ignores it
        signal.signal(signal.SIGINT, lambda *_: sys.exit(INTERRUPTED))
    gc.set_threshold(GC_THRESHOLD)
    atexit.register(gc.freeze)  # no collection at exit: the memory ends with the process
    ignore_impossible_sizes()
    try:
        with postponed():
            import typer  # noqa: F401, PLC0415  before those who import it
        from ldapdiag.cli.app import answer_shell, app  # noqa: PLC0415  import late: --help must be quick

        answer_shell()
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
            f"ldapdiag: bug in ldapdiag ({type(error).__name__}: {neutral(str(error))}); "
            "set LDAPDIAG_TRACEBACK=1 for a traceback, and report it\n"
        )
        sys.exit(FAILED)


def ignore_impossible_sizes() -> None:
    """Remove COLUMNS and LINES from the environment where they are no size: rich divides by 0, and fails at `²`."""
    for name in ("COLUMNS", "LINES"):
        size = os.environ.get(name, "")
        if not (size.isascii() and size.isdecimal() and len(size) <= MOST_DIGITS and int(size) > 0):
            os.environ.pop(name, None)

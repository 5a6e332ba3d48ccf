"""A block of commands that is pasted or run as a whole: it asks for the password once, and names the state it leaves.

    (
    steps() { step='…' state='nothing is changed'; …; }           what the block does comes first
    set -eu …                                                      then the functions that it uses
    steps
    )

It needs a POSIX shell. The password comes from the file that LDAP_PASSWORD_FILE names, else from the terminal, and
reaches the tools in a file that only its owner can read and that the end of the block removes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterable


SESSION = r"""set -eu
step= state='nothing is changed' password_copy= terminal=
say() { printf '%s\n' "$*"; }
refuse() { say "$1" >&2; exit 1; }
pause() { sleep "$1" >/dev/null 2>&1 & wait "$!"; }
undo() { :; }
ended() {
code=$?
trap '' HUP INT TERM
[ -z "$terminal" ] || stty "$terminal" </dev/tty
forget_password
[ "$code" -eq 0 ] || { say "FAILED: $step"; say "State: $state"; undo; } >&2
exit "$code"
}
forget_password() {
[ -z "$password_copy" ] || rm -f "$password_copy"
password_copy=
}
trap ended EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
ask_password() {
[ -z "$password_copy" ] || return 0
if [ -z "${LDAP_PASSWORD_FILE:-}" ] && ! (: </dev/tty) 2>/dev/null; then
say 'no terminal to ask for the password: set LDAP_PASSWORD_FILE to a file that contains it' >&2
exit 2
fi
password_copy=$(umask 077; mktemp)
if [ -n "${LDAP_PASSWORD_FILE:-}" ]; then
password=$(cat "$LDAP_PASSWORD_FILE")
else
terminal=$(stty -g </dev/tty)
stty -echo </dev/tty
printf 'Enter LDAP Password: ' >/dev/tty
IFS= read -r password </dev/tty
stty "$terminal" </dev/tty
terminal=
echo >/dev/tty
fi
printf %s "$password" >"$password_copy"
password=
}"""
BEGIN, END = "(\n", "steps\n)"
FIRST_LINE = pattern(r"\A((?:(?:#|: ).*\n)*)\(\n")
"""The beginning of a block, perhaps below comments and tests of variables."""
PROMPT, FROM_FILE = " -W", ' -y "$password_copy"'


def block(commands: str, steps: str, *libraries: str) -> str:
    """Return a block: `steps` are the lines to run, `commands` functions of their own, `libraries` shared ones."""
    asks = "ask_password\n" if FROM_FILE in commands else ""
    body = f"{commands}\nsteps() {{\n{asks}{steps}\n}}"
    return f"{BEGIN}{body}\n" + "".join(f"{one}\n" for one in (SESSION, *libraries)) + END


def is_block(text: str) -> bool:
    """Return whether a text is a block, so that `without_libraries` applies."""
    return f"\n{SESSION}\n" in text and text.endswith(END)


def without_libraries(text: str, libraries: Iterable[str]) -> str:
    """Return a block as the part of a script that has SESSION and these libraries at its beginning."""
    inner = FIRST_LINE.sub(r"\1", text.removesuffix("\n)"))
    for one in (SESSION, *libraries):
        inner = inner.replace(f"{one}\n", "")
    return inner


def from_file(command: str) -> str:
    """Return a command that prompts for the password as one that takes it from the block's file."""
    return command.removesuffix(PROMPT) + FROM_FILE if command.endswith(PROMPT) else command

"""Stands in for ssh to hosts with a folder each, of Windows and of Unix: it answers as sshd and the script there would.

Of a host of Windows, `shell` has what its shell says of a missing sh. What each shell hears is appended to heard-SHELL.
"""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from pathlib import Path

NOW = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
*_, NAME, COMMAND = sys.argv
HOST = Path(__file__).parent / NAME.rpartition("@")[2]
STEPS = {"Show-Host": ("host.txt",), "Show-Directory": ("registry-NTDS.txt", "events-1.xml")}


def say(text: str, end: str) -> None:
    """Print a line, and end it as the host does."""
    sys.stdout.write(text + end)
    sys.stdout.flush()


def show(nonce: str, file: str, number: str, end: str) -> None:
    """Print the section of a file that the host has."""
    path = HOST / file
    if path.exists():
        say(f"{nonce} begin . {file.replace('.', f'-{number}.') if number else file} {NOW} what was run", end)
        sys.stdout.write(path.read_text().replace("\n", end))
        say(f"{nonce} end 0 {NOW}", end)


def hear(shell: str, text: str) -> str:
    """Note what a shell hears."""
    with (HOST / f"heard-{shell}").open("a") as noted:
        noted.write(text)
    return text


def unix() -> None:
    """Play the portable script: it reads orders line by line."""
    nonce = re.split("['=\n]+", hear("sh", sys.stdin.readline()))[1]
    while hear("sh", sys.stdin.readline()) != "main\n":
        pass
    say(f"ldapdiag-collection 1 {nonce}", "\n")
    show(nonce, "host.txt", "", "\n")
    say(f"{nonce} waiting", "\n")
    looks = 0
    while order := hear("sh", sys.stdin.readline()):
        if order == "snapshot\n":
            looks += 1
            show(nonce, "sockets.txt", str(looks), "\n")
        say(f"{nonce} waiting", "\n")


def windows() -> None:
    """Play the script of Windows, which PowerShell may begin to read when its input has ended."""
    text = hear("powershell", sys.stdin.read())
    (nonce,) = re.findall(r"^\$nonce = '(\w+)'$", text, re.MULTILINE)
    first, *steps = text.rpartition("\n\n")[2].splitlines()
    assert (first, steps.pop()) == ('Write-Line "ldapdiag-collection 1 $nonce"', 'Write-Line "$nonce waiting"')
    say(f"ldapdiag-collection 1 {nonce}", "\r\n")
    for step in steps:
        name, _, number = step.partition(" ")
        for file in STEPS.get(name, ("sockets.txt",)):
            show(nonce, file, number, "\r\n")
    say(f"{nonce} waiting", "\r\n")


if COMMAND == "sh" and (HOST / "shell").exists():
    sys.exit((HOST / "shell").read_text())  # to standard error, with status 1
elif COMMAND == "sh":
    unix()
else:
    hear("commands", f"{COMMAND}\n")
    windows()

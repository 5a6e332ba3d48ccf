"""A host that runs Windows: when sh is taken for missing, and how the script for PowerShell is sent instead.

By Microsoft's documentation and the sources of PowerShell, for want of a Windows; not run there.

- It goes over standard input: a line of cmd.exe, 8,191 characters, leaves 3,000 to a script after -EncodedCommand, and
  what is encoded or compressed looks like an attack to those who guard a domain controller. In PowerShell's own log
  (event 4104) it stands as it was sent.
- There is one connection for each order, whose input ends with the order: where sshd's DefaultShell is PowerShell, it
  takes the input itself and hands it on by $input, perhaps at its end only.
"""

from __future__ import annotations

from importlib.resources import files

POWERSHELL = "powershell -NoProfile -NonInteractive -Command -"
"""For cmd.exe, and any other shell that leaves the input to what it starts."""
WITHIN_POWERSHELL = f"$input | {POWERSHELL}"
NOT_FOUND_BY_POWERSHELL = (b"CommandNotFoundException", b"name of a cmdlet")
"""What PowerShell, 5.1 and 7, says of a missing sh, in whatever language; cmd.exe says neither."""
NOT_FOR_LACK_OF_SH = frozenset({None, 0, 127, 255})
"""It runs, ended well, is missing for a shell of Unix, or ssh itself failed; cmd.exe and PowerShell end with 1."""
NOT_RUN = "it was read by a script that was never run on Windows, but follows Microsoft's documentation"
FIRST_LOOK = ("Show-Host", "Show-Socket 1", "Show-Directory")


def powershell_command(errors: bytes) -> str:
    """Return the command that starts PowerShell with our input, by what the host's shell said of the missing sh."""
    return WITHIN_POWERSHELL if any(sign in errors for sign in NOT_FOUND_BY_POWERSHELL) else POWERSHELL


def powershell_script(nonce: str, limit_seconds: int, *steps: str) -> str:
    """Return the script without comments, and after it the steps; it prints the frame of the portable script.

    The first line may be lost to a byte-order mark that comes before it.
    """
    text = files("ldapdiag.sources.live.ssh").joinpath("collect", "windows.ps1").read_text(encoding="ascii")
    code = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    begin = [
        "$null",
        f"$nonce = '{nonce}'",
        f"$limit = {limit_seconds}",
        *code,
        "",
        'Write-Line "ldapdiag-collection 1 $nonce"',
    ]
    return "\n".join([*begin, *steps, 'Write-Line "$nonce waiting"', ""])

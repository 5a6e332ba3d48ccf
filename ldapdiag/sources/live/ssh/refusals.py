"""Why a host could not be asked, in a sentence, from what ssh, nsenter or the shell said of it."""

from __future__ import annotations

REFUSALS: tuple[tuple[str, str, str], ...] = (
    ("permission denied (", "permission denied", "load a key (ssh-add), or name the user: ssh://user@host"),
    ("too many authentication failures", "too many keys were tried", "name the key in ~/.ssh/config (IdentitiesOnly)"),
    (
        "host key verification failed",
        "its host key is not known, or has changed",
        "connect by hand and compare the key",
    ),
    ("could not resolve hostname", "its name is not known", "check the spelling, or use its address"),
    ("connection refused", "connection refused", "check that sshd runs there, and its port: ssh://host:port"),
    ("no route to host", "no route to it", "check the address and the network"),
    ("network is unreachable", "its network is unreachable", "check the address and the network"),
    ("connection timed out", "no answer to the connection", "check the address, and what is between"),
    ("operation timed out", "no answer to the connection", "check the address, and what is between"),
    ("kex_exchange_identification", "it closed the connection at once", "see sshd's log there (MaxStartups)"),
    ("connection closed by", "it closed the connection", "see sshd's log there"),
    ("connection reset", "it reset the connection", "see sshd's log there"),
    ("account is not available", "its user may not run commands there", "name another user: ssh://user@host"),
    ("not found", "there is no sh for this user", "name a user with a shell: ssh://user@host"),
    ("cannot open /", "the network namespace cannot be entered", "check its name (ip netns), and be root"),
    ("reassociate to namespace", "the network namespace cannot be entered", "check its name (ip netns), and be root"),
    ("operation not permitted", "that is not permitted", "be root"),
)
"""What stands in the message, in lower case; what that means; what to do."""

OTHERWISE = "see that it can be reached, and gives this user a shell"
LONGEST_SHOWN = 200


def refusal(said: bytes, status: int | None) -> tuple[str, str]:
    """Return the reason and the advice; `said` is the end of what it said, `status` how the command ended."""
    text = said.decode(errors="backslashreplace")
    for sign, reason, how in REFUSALS:
        for line in text.splitlines():
            if sign in line.lower():
                return f"{reason} ({line.strip()[:LONGEST_SHOWN]})", how
    last = text.strip().splitlines()[-1:]
    told = f": {last[0].strip()[:LONGEST_SHOWN]}" if last else ""
    return f"ended before it answered (exit {status}){told}", OTHERWISE

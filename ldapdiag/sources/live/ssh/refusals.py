"""Why collection from a host failed, in a sentence, from the error output of ssh, nsenter or the shell."""

from __future__ import annotations

CHECK_ADDRESS = "check the address and the network"
CHECK_PATH = "check the address and the firewalls to it"
CHECK_LOG = "check sshd's log there"
NAMESPACE = "cannot enter the network namespace"
NAMESPACE_ADVICE = "check its name (ip netns), and run as root"

REFUSALS: tuple[tuple[str, str, str], ...] = (
    ("permission denied (", "permission denied", "load a key (ssh-add), or name the user: ssh://user@host"),
    ("too many authentication failures", "too many keys were offered", "set IdentitiesOnly in ~/.ssh/config"),
    ("host key verification failed", "unknown or changed host key", "connect by hand and compare the key"),
    ("could not resolve hostname", "cannot resolve its host name", "check the spelling, or use the address"),
    ("connection refused", "connection refused", "check that sshd runs there, and its port: ssh://host:port"),
    ("no route to host", "no route to the host", CHECK_ADDRESS),
    ("network is unreachable", "its network is unreachable", CHECK_ADDRESS),
    ("connection timed out", "no answer to the connection request", CHECK_PATH),
    ("operation timed out", "no answer to the connection request", CHECK_PATH),
    ("kex_exchange_identification", "it closed the connection at once", f"{CHECK_LOG} (MaxStartups)"),
    ("connection closed by", "it closed the connection", CHECK_LOG),
    ("connection reset", "it reset the connection", CHECK_LOG),
    ("account is not available", "this user may not run commands there", "name another user: ssh://user@host"),
    ("not found", "no sh for this user", "name a user with a shell: ssh://user@host"),
    ("cannot open /", NAMESPACE, NAMESPACE_ADVICE),
    ("reassociate to namespace", NAMESPACE, NAMESPACE_ADVICE),
    ("operation not permitted", "operation not permitted", "run as root"),
)
"""Text in the error output (lower case), reason, advice."""

OTHERWISE = "check that the host is reachable, and that this user has a shell there"
MAX_SHOWN = 200
"""Characters of the error output to repeat."""


def refusal(errors: bytes, status: int | None) -> tuple[str, str]:
    """Return reason and advice from the last error output of a command and its exit status."""
    text = errors.decode(errors="backslashreplace")
    for sign, reason, how in REFUSALS:
        for line in text.splitlines():
            if sign in line.lower():
                return f"{reason} ({line.strip()[:MAX_SHOWN]})", how
    last = text.strip().splitlines()[-1:]
    detail = f": {last[0].strip()[:MAX_SHOWN]}" if last else ""
    return f"the command ended without an answer (exit status {status}){detail}", OTHERWISE

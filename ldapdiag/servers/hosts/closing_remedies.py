"""Remedies that free the descriptors of dead connections: close their sockets, prove them dead, wait, or restart."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from ldapdiag.lazy_pattern import pattern
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where
from ldapdiag.servers.commands.shell_text import bracketed
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence


ADDRESS = pattern(r"[0-9A-Fa-f.:]+")
MOST_PORTS = 400
"""Sockets that one command closes: what is pasted has to be read before."""
COLUMNS = 64
"""Of the ports of a command: a terminal that reads whole lines cuts those of 4,096 characters."""
CANNOT_CLOSE = (
    "If it prints none, this host cannot close sockets: restart the program that holds them instead. The command needs "
    "root, iproute2 and Linux from 4.5 on with CONFIG_INET_DIAG_DESTROY (grep INET_DIAG_DESTROY /boot/config-*), and "
    "runs in the network namespace of that program."
)


def close_ghosts(
    server: str, endpoint: tuple[str, int], client: str, client_ports: Sequence[int], seen: int | None = None
) -> Remedy | None:
    """Close those sockets of a server that are proven dead; None when an end is not given as an address.

    `seen`: when they were seen, in seconds since 1970 by the server's clock.
    """
    address, port = endpoint
    if not client_ports or not (ADDRESS.fullmatch(client) and ADDRESS.fullmatch(address)):
        return None
    return _close_sockets(
        f"src {bracketed(address)} and sport = :{port} and dst {bracketed(client)}",
        "dport",
        client_ports,
        seen,
        title=f"Close the {counted(len(set(client_ports)), 'dead connection')} from {client} now",
        target=server,
        where=Where.SERVER,
        changes="The kernel closes these sockets and the server frees their descriptors at once. No setting changes.",
        undo="None needed: a client that needs a connection opens a new one.",
    )


def close_at_client(
    client: str, address: str, endpoint: tuple[str, int], client_ports: Sequence[int], seen: int | None = None
) -> Remedy | None:
    """Close those sockets of a client that are proven dead; None when the server is not given as an address.

    `address` is the client's own; empty: behind a translation, and not known.
    """
    server_address, server_port = endpoint
    if not client_ports or not ADDRESS.fullmatch(server_address) or not (not address or ADDRESS.fullmatch(address)):
        return None
    own = f"src {bracketed(address)} and " if address else ""
    return _close_sockets(
        f"{own}dst {bracketed(server_address)} and dport = :{server_port}",
        "sport",
        client_ports,
        seen,
        title=f"Close the {counted(len(set(client_ports)), 'dead connection')} to {server_address} now",
        target=client,
        where=Where.CLIENT,
        changes="The kernel closes these sockets; the application receives an error at once, and connects again.",
        undo="None needed: the application opens new connections.",
    )


def _close_sockets(  # noqa: PLR0913  the words of either end
    chosen: str,
    side: str,
    client_ports: Sequence[int],
    seen: int | None,
    *,
    title: str,
    target: str,
    where: Where,
    changes: str,
    undo: str,
) -> Remedy:
    """Close the established sockets that a filter of ss selects, one by one by the client's port on one side.

    Each is looked at again before: one that has received data since it was seen dead is left open. Where that cannot be
    found out (a line was not pasted, ss fails), none is closed.
    """
    ports = sorted(set(client_ports))
    first, rest = ports[:MOST_PORTS], len(ports) - MOST_PORTS
    listed = " \\\n  ".join(wrap(" ".join(map(str, first)), COLUMNS))
    kill = 'ss -K -Htn state established "$dead"'
    idle = 'idle=$(ss -tni state established "$dead" | sed -n "s/.*lastrcv:\\([0-9]*\\).*/\\1/p")'
    guarded = f'  if [ "${{idle:-0}}" -ge "$since_seen_ms" ]; then {kill}; fi'
    again = [f"  {idle}", guarded] if seen is not None else [f"  {kill}"]
    since = [f"since_seen_ms=$((($(date +%s) - {seen}) * 1000))"] if seen is not None else []
    return Remedy(
        title=title if rest <= 0 else title.replace("the ", f"{MOST_PORTS} of the ", 1),
        target=target,
        where=where,
        kind=RemedyKind.SHELL,
        text="\n".join(
            [*since, f"for port in {listed}; do", f'  dead="( {chosen} and {side} = :$port )"', *again, "done"]
        ),
        changes=(f"One command closes {MOST_PORTS}: run ldapdiag again for the other {rest:,}. " if rest > 0 else "")
        + changes,
        risk=(
            "A connection that has received data since is left open. The command prints each that it closes."
            if seen is not None
            else "Run it soon: a new connection from one of these ports is closed, too. It prints each that it closes."
        )
        + f" {CANNOT_CLOSE}",
        undo=undo,
        verify=f'ss -Htn state established "( {chosen} )" | wc -l    # the live ones are left',
    )


def restart_server(server: str, command: str, cut: int, live: int) -> Remedy:
    """Restart a directory server, which closes every connection: the price of closing what is not proven dead."""
    return Remedy(
        title="Restart the server",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL if command else RemedyKind.ADVICE,
        text=command or "Restart the directory server in a maintenance window.",
        changes="Every connection is closed, the dead ones included.",
        risk=(
            f"All {counted(cut, 'connection')} of its clients are cut, {live:,} that are in use or not proven dead "
            "among them, and requests fail until it runs again."
        ),
        undo="None needed: the clients connect again.",
        verify="ss -Htn state established '( sport = :389 or sport = :636 )' | wc -l",
        needs=Needs.RESTART,
    )


def wait_for_close(server: str, seconds: int, latest: float | None, *, by_timeout: bool, kept: int = 0) -> Remedy:
    """Wait until a timeout in force has closed the dead connections; `latest`: seconds by which it has, if known.

    `kept`: so many belong to accounts that no idle timeout applies to.
    """
    belong = counted(kept, "of them belongs", "of them belong")
    stay = f"{belong} to accounts that no idle timeout applies to, and {'stays' if kept == 1 else 'stay'} open."
    what = f"the idle timeout of {seconds:,} s closes" if by_timeout else "unanswered keepalive probes close"
    when = f"about {seconds:,} s" if latest is None else f"at most {latest:,.0f} s"
    return Remedy(
        title=f"Wait {when}: {what} them",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.ADVICE,
        text=f"Each is closed {when} after its last request. Then collect evidence again, and run ldapdiag diagnose.",
        changes="The dead connections end without a command, and no live one that is in use is cut.",
        risk=(
            "Until then they keep their descriptors. One that was opened, or bound, before the setting may stay."
            + (f" {stay}" if by_timeout and kept else "")
        ),
        undo="None needed.",
        verify="ldapdiag diagnose    # on evidence from after that time",
    )


def prove_dead(client: str, count: int, *, is_read: bool) -> Remedy:
    """Collect what proves connections dead, in every network namespace of the client's host.

    `is_read`: a table of the client is in the evidence, and shows one of them.
    """
    missing = "its other network namespaces" if is_read else "its sockets"
    return Remedy(
        title=f"Collect {missing} as root, which proves {counted(count, 'connection')} live or dead",
        target=client,
        where=Where.CLIENT,
        kind=RemedyKind.SHELL,
        text="ldapdiag collect -o client.tar.gz    # as root; without ldapdiag there: collect --print-script elsewhere",
        changes=(
            "Then run ldapdiag diagnose again with client.tar.gz beside the other evidence: what no namespace of the "
            "host has is certain, and its command is printed."
        ),
        risk="None: it only reads.",
        undo="rm client.tar.gz",
        verify="ldapdiag diagnose client.tar.gz",
    )


def prove_dead_on_windows(client: str, count: int) -> Remedy:
    """Look for what else may have connections from the address of a client that runs Windows."""
    return Remedy(
        title=f"Collect the sockets of what runs within it, which proves {counted(count, 'connection')} live or dead",
        target=client,
        where=Where.CLIENT,
        kind=RemedyKind.ADVICE,
        text=(
            "A Windows container, WSL 2 and a virtual machine behind its NAT have sockets that its own table lacks: "
            "netstat -ano, or ss -tan, within each. Where none runs, none of the connections is alive."
        ),
        changes="Then run ldapdiag diagnose again with these tables beside the other evidence.",
        risk="None: it only reads.",
        undo="None needed.",
        verify="ldapdiag diagnose    # with these tables",
    )

"""Remedies for a server that leaves connections open beyond its idle timeout."""

from __future__ import annotations

from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where


def keep_server_active(server: str) -> Remedy:
    """Advise an upgrade, or a little activity, for a server that looks for idle connections only under activity."""
    return Remedy(
        title="Let a monitoring system query the server each minute, or upgrade it",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.ADVICE,
        text=(
            "Upgrade to 389-ds 3.0.1, or a release of your distribution with the fix of issue #6004. Until then any "
            "request of another client makes the server close what is idle: search the root DSE once a minute, on a "
            "connection that stays open."
        ),
        changes="Idle connections are closed a minute after their timeout at the latest.",
        risk="One search of the root DSE a minute.",
        undo="Stop the search.",
        verify="idle-timeout-not-enforced no longer lists the server.",
    )


def reopen_connections(server: str) -> Remedy:
    """Advise that clients reconnect, for a server whose open connections keep the limit they were opened with."""
    return Remedy(
        title="Let clients reconnect after a change of the idle timeout",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.ADVICE,
        text=(
            "An open connection keeps the limit that it had when it was opened or last bound. Restart the applications "
            "one after the other, or the server in a maintenance window."
        ),
        changes="New connections have the present limit.",
        risk="Requests fail while an application or the server restarts.",
        undo="None needed.",
        verify="idle-timeout-not-enforced no longer lists the server.",
        needs=Needs.RECONNECT,
    )

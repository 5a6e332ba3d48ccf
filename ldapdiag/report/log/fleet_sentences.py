"""The sentences of the fleet view: what differs, the balance, silent servers, clients that use one server only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.report.log.quantities import day_and_time, duration
from ldapdiag.wording import counted, number, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ldapdiag.analysis.fleet.comparison import Comparison

FEW = 3


def differences(fleet: Comparison) -> Iterator[str]:
    """Yield the searches and versions that differ."""
    for one in fleet.searches:
        what = f"{one.server}: {one.group.shape} below {one.group.place}"
        here, there = duration(one.group.etimes.p50), duration(one.their_median)
        where = f"on {counted(len(one.others), 'other')}" if len(one.others) > 1 else f"on {one.others[0]}"
        if one.lacks_index:
            yield (
                f"{what} is unindexed here ({number(one.group.unindexed)} of {number(one.group.answered)}), indexed "
                f"{where}: {here} against {there}; see ldapdiag indexes"
            )
        else:
            yield f"{what} takes {here} (median), {where} {there}"
    if fleet.versions:
        each = (f"{version}: {_few(names)}" for version, names in fleet.versions.items())
        yield f"versions: {'; '.join(each)}"


def balance_sentences(fleet: Comparison) -> Iterator[str]:
    """Yield which servers have more than their share, and which have none; or why that is not compared."""
    if fleet.balance is None:
        yield from _not_compared(fleet)
        return
    for one in fleet.balance.overloaded:
        clients = ", ".join(
            f"{client.address} ({number(client.opened)})"
            for client in one.replica.workload.clients[:FEW]
            if client.opened
        )
        yield (
            f"{one.replica.name} has {percent(one.connections)} of the connections and {percent(one.operations)} of "
            f"the operations (even: {percent(fleet.balance.even)}); most are of {clients}"
        )
    if idle := [one.replica.name for one in fleet.balance.idle]:
        yield f"without load: {_few(idle)}"
    if not fleet.balance.overloaded:
        yield f"no server has twice the even share of {percent(fleet.balance.even)}"


def _not_compared(fleet: Comparison) -> Iterator[str]:
    if len(fleet.replicas) < 2:
        yield "not compared: there is one server"
    elif fleet.fleet.common is None:
        yield "not compared: the logs have too little time in common"
    else:
        yield "not compared: fewer than 100 connections in all logs"


def silence_sentences(fleet: Comparison) -> Iterator[str]:
    """Yield when servers have no record while others have."""
    for replica in fleet.replicas:
        for span in replica.silences[:FEW]:
            (day, begin), (_, end) = day_and_time(span.begin), day_and_time(span.end)
            length = duration(span.length // SECOND * SECOND)
            yield (
                f"{replica.name} has no record from {day} {begin} to {end} UTC ({length}), while others "
                "have: it had no load, or that part of its log is missing"
            )


def client_sentences(fleet: Comparison) -> Iterator[str]:
    """Yield the clients that use one server only, where others use several."""
    every = {client.address for one in fleet.replicas for client in one.workload.clients if client.opened}
    if len(fleet.faithful) * 2 > len(every) or not fleet.faithful:
        return
    first = (
        f"{one.client} {one.server} ({counted(one.connections, 'connection')}, {percent(one.share)} of its)"
        for one in fleet.faithful[:FEW]
    )
    yield f"{counted(len(fleet.faithful), 'client')} use one server only: {', '.join(first)}"


def move_sentences(fleet: Comparison) -> Iterator[str]:
    """Yield which clients moved from one server to another, and when; or why that is not judged."""
    if fleet.moved is None and fleet.fleet.common is not None:
        yield "moves of clients are not judged: a log has more clients than its table keeps"
    for one in fleet.moved or ():
        who = one.clients[0] if len(one.clients) == 1 else counted(len(one.clients), "client")
        day, time = day_and_time(one.begin)
        within = f" (within {duration(one.end - one.begin)})" if len(one.clients) > 1 else ""
        silence = f", when {one.source} has no record" if one.silent else ""
        names = "" if len(one.clients) == 1 else f": {_few(one.clients)}"
        yield f"{who} moved from {one.source} to {one.target} at {day} {time} UTC{within}{silence}{names}"


def _few(names: Sequence[str]) -> str:
    more = [f"and {number(len(names) - FEW)} more"] if len(names) > FEW else []
    return ", ".join([*names[:FEW], *more])

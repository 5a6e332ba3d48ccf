"""One round of the closed loop: the load is sent, its log and the configuration are audited, and candidates probed.

What the report says of each kind of search (`Report.verdicts`) stands beside what the server does with it
(`Round.records`, `Round.scans`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from command import ldapdiag
from lab.directory_servers import DSE
from lab.phone_book import Logged
from lab.search_kinds import PLAIN, SearchKind
from lab.search_load import Records, send
from lab.two_database_servers import STEPS, probe
from ldapdiag.evidence.filters import shape

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from command import Ran
    from lab.directory_servers import Server

LISTS = ("predicted", "no_index_helps", "not_worth_an_index", "harmless")
"""Where a report has the searches that it says something of."""
SLAPD_CONFIGURATION = ["slapcat", "-n0", "-F", "/etc/ldap/slapd.d"]
MOST = STEPS[-1]
"""More candidate entries than these, and more than entries that match, are a scan; each database has more."""
SEED = 1


@dataclass(frozen=True, slots=True)
class Report:
    """What `ldapdiag indexes` reported."""

    ran: Ran
    script: str
    server: dict
    """The only element of `indexes`."""
    findings: list[dict]

    def verdicts(self, kind: SearchKind) -> set[str]:
        """Return the lists that have this kind of search; none: it is not said to scan."""
        base, text = kind.base(0).lower(), shape(kind.text(0).encode()).decode().lower()
        return {
            name
            for name in LISTS
            for row in self.server[name]
            if (row["base"].lower(), row["scope"], row["shape"].lower()) == (base, kind.scope, text)
        }

    @property
    def plan(self) -> dict[tuple[str, str], set[str]]:
        """Return the types to add, by backend and attribute."""
        return {(row["backend"], row["attribute"].lower()): set(row["types"]) for row in self.server["plan"]}


@dataclass(frozen=True, slots=True)
class Round:
    """What was sent, reported, and is true."""

    records: Records
    report: Report
    scans: frozenset[str]
    """Kinds for which the server has more than MOST candidate entries although fewer match."""
    log: str


def go_round(server: Server, kinds: Mapping[str, SearchKind], folder: Path, times: int) -> Round:
    """Send the load, audit it, and probe."""
    logged = Logged(server)
    records = send(server, kinds, seed=SEED, times=times)
    log = logged.since()
    return Round(records, audit(server, log, folder), scans(server, kinds, records), log)


def audit(server: Server, log: str, folder: Path) -> Report:
    """Audit this log, and the configuration as it is now."""
    place = written(server, log, folder)
    ran = ldapdiag("indexes", place, "--format", "json")
    (only,) = ran.report["indexes"]
    return Report(ran, ldapdiag("indexes", place, "--script").text, only, ran.report["findings"])


def written(server: Server, log: str, folder: Path) -> Path:
    """Write the evidence to a folder with the name of the host, which stands in the commands."""
    place = folder / "ldap"
    place.mkdir(exist_ok=True)
    (place / "access.log").write_text(log)
    (place / "configuration.ldif").write_text(configuration(server))
    return place


def configuration(server: Server) -> str:
    """Return the configuration of a server as it is on its disk."""
    return server.host.run(["cat", DSE] if server.argv[0] == "ns-slapd" else SLAPD_CONFIGURATION)


def scans(server: Server, kinds: Mapping[str, SearchKind], records: Records) -> frozenset[str]:
    """Return the kinds that have more candidate entries than MOST, and no more than these that match.

    Sorted and paged searches are probed without their controls: 389-ds has limits of their own for pages.
    """
    few = {name: kind for name, kind in kinds.items() if max(one.sent.entries for one in records[name]) < MOST}
    plain = {name: replace(kind, control=PLAIN) for name, kind in few.items() if not kind.control.first}
    probed = send(server, plain, seed=SEED, times=1, who=probe(MOST))
    return frozenset(name for name, (one,) in probed.items() if one.sent.err == 11)

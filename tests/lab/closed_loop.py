"""The closed loop on one server: a round, the printed script under the eyes of a searching client, and a second round.

What a round is, says audited_load.py. Afterwards each index of the plan can be dropped alone (`without_each`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lab.audited_load import audit, configuration, go_round, scans
from lab.directory_servers import SUFFIX
from lab.host import wait_for
from lab.phone_book import Logged
from lab.search_kinds import kinds_of
from lab.search_load import send
from lab.searching_client import Lane, searching
from lab.terminal import paste
from lab.two_database_servers import two_databases_389, two_databases_slapd
from lab.two_databases import PARTNERS
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.schema.standard import standard
from ldapdiag.remedy import Needs
from ldapdiag.servers.commands.server_address import ServerAddress
from ldapdiag.servers.index_remedies import drop_indexes
from ldapdiag.servers.indexes.candidates import Change, IndexPlace
from reading import facts_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from lab.audited_load import Round
    from lab.directory_servers import Server
    from lab.search_kinds import SearchKind
    from lab.searching_client import SearchingClient

SERVERS = {"389-ds": two_databases_389, "openldap": two_databases_slapd}
ADDRESSES = {"389-ds": "ldap://ldap", "openldap": "ldapi:///"}
"""What the operator sets at the top of a script: an audit of files has no address."""
LANES = {
    "people": Lane(SUFFIX, "sub", "(uid=a00005)"),
    "mail": Lane(SUFFIX, "sub", "(mail=Anna.Ackerbach.00000@example.com)"),
    "partners": Lane(PARTNERS.suffix, "sub", "(uid=p00005)"),
    "rootDSE": Lane("", "base", "(objectClass=*)"),
}
"""What the client searches for while the script runs; each finds one entry."""
REMEDIES = "/run/remedies"
UNFINISHED = "(&(nsInstance=*)(!(nsTaskExitCode=0)))"
AGAIN = 4
"""So often each kind is asked after one index was dropped."""


@dataclass(frozen=True, slots=True)
class Loop:
    """Both rounds, and what the client saw in between."""

    family: str
    kinds_sent: Mapping[str, SearchKind]
    server: Server
    folder: Path
    first: Round
    second: Round
    client: SearchingClient

    def seen(self, name: str, number: int) -> list[tuple[int, int, float, str]]:
        """Return error, entries, time and notes of each search of a kind, in one of both rounds."""
        records = (self.first, self.second)[number].records[name]
        return [(one.sent.err, one.sent.entries, one.etime, "".join(sorted(one.notes))) for one in records]

    def kinds(self, verdict: str) -> list[str]:
        """Return the kinds of which the first report has only this verdict."""
        return [name for name, kind in self.kinds_sent.items() if self.first.report.verdicts(kind) == {verdict}]


def close_loop(
    server: Server, family: str, folder: Path, times: int, kinds: Mapping[str, SearchKind] | None = None,
    lanes: Mapping[str, Lane] = LANES,
) -> Loop:  # fmt: skip
    """Go round with these kinds or those of the two databases, run the script, and go round again."""
    kinds = kinds_of(family) if kinds is None else kinds
    first = go_round(server, kinds, folder, times)
    with searching(server, lanes) as client:
        run_script(server, family, first.report.script)
    return Loop(family, kinds, server, folder, first, go_round(server, kinds, folder, times), client)


def run_script(server: Server, family: str, script: str) -> None:
    """Run a printed script as an operator does, and wait for what it has begun."""
    server.host.run(["tee", REMEDIES], stdin=script)
    paste(server.host, f"LDAP_URI={ADDRESSES[family]} sh {REMEDIES}")
    wait_for(lambda: _is_built(server), "the build does not end", seconds=120)


def _is_built(server: Server) -> bool:
    tasks = "cn=index,cn=tasks,cn=config"
    return server.argv[0] != "ns-slapd" or not server.search(tasks, UNFINISHED, "nsTaskExitCode").strip()


@dataclass(frozen=True, slots=True)
class Without:
    """What happens without one index of the plan."""

    index: str
    scan: frozenset[str]
    """Kinds that scan again."""
    planned: dict[tuple[str, str], set[str]]
    """What the next report asks for."""
    is_put_back: bool
    """It asks for this index and nothing else."""


def without_each(loop: Loop, most: int) -> Iterator[Without]:
    """Drop one index after the other, as the report says of unused ones, and put it back by the next script."""
    every = [
        (backend, attribute, one)
        for (backend, attribute), types in loop.first.report.plan.items()
        for one in sorted(types)
        if not one.endswith("Match") and not one[0].isdigit()
    ]
    for backend, attribute, type_ in every[:most]:
        drop(loop.server, backend, Change(attribute, type_))
        kinds = {name: kind for name, kind in loop.kinds_sent.items() if name in loop.kinds("predicted")}
        log = Logged(loop.server)
        records = send(loop.server, kinds, seed=1, times=AGAIN)
        report = audit(loop.server, log.since(), loop.folder)
        again = scans(loop.server, kinds, records) - loop.second.scans
        is_put_back = report.plan == {(backend, attribute): {type_}}
        yield Without(f"{backend} {attribute} {type_}", again, report.plan, is_put_back)
        run_script(loop.server, loop.family, report.script)


def drop(server: Server, backend: str, change: Change) -> None:
    """Drop an index by the printed commands."""
    (told,) = [one for one in facts_of(configuration(server)) if isinstance(one, IndexConfiguration)]
    (database,) = [one for one in told.backends if one.name == backend]
    family = "389-ds" if server.argv[0] == "ns-slapd" else "openldap"
    address = ServerAddress(name="ldap", host="ldap")
    (remedy,) = drop_indexes(IndexPlace(address, database, told, standard()), [change])
    paste(server.host, f"LDAP_URI={ADDRESSES[family]}\n{remedy.text}")
    if remedy.needs is Needs.RESTART and family == "389-ds":
        server.restart()

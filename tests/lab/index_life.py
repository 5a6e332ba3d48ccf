"""The life of one index on a real server, state by state: what the server answers then, and the evidence of the moment.

The truth is the server's own: how many of the entries that have a value it finds.
"""

from __future__ import annotations

import re
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lab.directory_servers import DSE, INSTANCE, SUFFIX
from lab.odd_directory import ACCESS, ERRORS, INDEXES_389, add_index, begin_build, build, entries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lab.directory_servers import Server
    from lab.host import Host
    from lab.laboratory import Laboratory

NAME = "employeeNumber"
ENTRIES = 20_000
VALUES = range(100, ENTRIES - 100, ENTRIES // 30)
"""Of entries all over the database, which a build reaches one after the other."""
STARTING = re.compile(r"(?m)^.*starting up$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A state of the index."""

    state: str
    found: int
    """Of VALUES, whose entries all exist."""
    configuration: str
    logs: dict[str, str]
    """The access log from before the index, across its life, and since this state began, by those names."""
    beside: dict[str, tuple[str, str]]
    """What else there is, as file and text: errors logs by what they have, and a probe of the answers."""

    @property
    def is_right(self) -> bool:
        """Tell whether no answer lacks an entry."""
        return self.found == len(VALUES)


@dataclass(slots=True, kw_only=True)
class Life:
    """An index of a running server; each state asks for VALUES."""

    server: Server
    configuration: list[str]
    """The command that prints it."""
    begun: int = 0
    """Lines of the access log before the present state."""
    before: str = field(default="", repr=False)
    hidden: set[int] = field(default_factory=set, repr=False)
    """Lines of the access log by probes of ours."""

    def logged(self) -> str:
        """Return the whole access log."""
        raise NotImplementedError

    def access(self) -> list[str]:
        """Return the lines of the access log, without those of our probes."""
        lines = self.logged().splitlines(keepends=True)
        return [line for place, line in enumerate(lines) if place not in self.hidden]

    def errors(self) -> dict[str, str]:
        """Return the errors logs, whole and with lines missing."""
        return {}

    def enter(self, change: Callable[[], object]) -> None:
        """Change the state; stamps of entries are in whole seconds."""
        time.sleep(1.1)
        self.begun = len(self.access())
        change()
        time.sleep(1.1)

    def moment(self, state: str, *, is_halted: bool = False) -> Moment:
        """Ask for VALUES, unless the server is halted, and return the state."""
        filters = [] if is_halted else [f"({NAME}={one})" for one in VALUES]
        found = sum(self.server.search(SUFFIX, one, "1.1").count("dn: ") for one in filters)
        lines = self.access()
        self.before = self.before or "".join(lines)
        beside = {name: ("errors", text) for name, text in self.errors().items()} | {"nothing": ("", "")}
        return Moment(
            state=state,
            found=len(VALUES) if is_halted else found,
            configuration=self.server.host.run(self.configuration),
            logs={"before": self.before, "across": "".join(lines), "after": "".join(lines[self.begun :])},
            beside=beside if is_halted else beside | {"probe": ("index-answers.txt", self.probe())},
        )

    def probe(self) -> str:
        """Return what a probe of the answers says."""
        begin = len(self.logged().splitlines())
        way = f"ldapi://{self.server.ldapi} -Y EXTERNAL --probe-answers --output probed"
        collect = f"{sys.executable} -m ldapdiag collect {way} > collected 2>&1"
        text = self.server.host.run(
            f"cd /run; rm -rf probed; {collect}; find probed -name index-answers.txt -exec cat {{}} +"
        )
        self.hidden |= set(range(begin, len(self.logged().splitlines())))
        return text


class LifeOf389(Life):
    """On 389-ds, whose errors log has the builds and the starts."""

    def logged(self) -> str:
        return self.server.host.run(["cat", ACCESS])

    def errors(self) -> dict[str, str]:
        whole = self.server.host.run(["cat", ERRORS])
        begin = "".join(whole.splitlines(keepends=True)[:5])
        banner = whole.partition("[")[0]
        last = whole[list(STARTING.finditer(whole))[-1].start() :]
        return {"whole errors log": whole, "its begin": begin, "one with a gap": f"{begin}{banner}{last}"}

    def define(self) -> None:
        add_index(self.server, NAME)

    def drop(self) -> None:
        self.server.modify(f"dn: cn={NAME},{INDEXES_389}\nchangetype: delete\n")

    def halt_in_a_build(self) -> None:
        """Begin a build, and halt the server in it; again, if the build was faster."""
        for attempt in range(8):
            logged = self._builds()
            begin_build(self.server, f"halted{attempt}", NAME)
            line = f"grep -c 'Indexing attribute: {NAME}' {ERRORS} || true"
            self.server.host.run(f"while [ $({line}) = {logged} ]; do :; done; kill -STOP {self.server.pid}")
            if "Finished" not in self.server.host.run(["cat", ERRORS]).rpartition("Indexing attribute")[2]:
                return
            self.server.host.run(f"kill -CONT {self.server.pid}")
        raise AssertionError("every build was done before the server could be halted")

    def kill(self) -> None:
        self.server.host.run(f"kill -KILL {self.server.pid}")
        self.server.process.end()
        self.server.start()

    def _builds(self) -> int:
        return self.server.host.run(["cat", ERRORS]).count(f"Indexing attribute: {NAME}")

    def states(self) -> Iterator[Moment]:
        yield self.moment("missing")
        self.enter(self.define)
        yield self.moment("added")
        self.enter(self.halt_in_a_build)
        yield self.moment("building", is_halted=True)
        self.enter(self.kill)
        yield self.moment("killed while building")
        self.enter(lambda: build(self.server, "first", NAME))
        yield self.moment("built")
        self.enter(self.server.restart)
        yield self.moment("restarted")
        self.enter(self.drop)
        yield self.moment("dropped")
        self.enter(lambda: (self.define(), self.server.restart()))
        yield self.moment("added, restarted")
        self.enter(lambda: build(self.server, "second", NAME))
        yield self.moment("built at last")


def life_of_389(laboratory: Laboratory, host: Host) -> Iterator[Moment]:
    """Yield the states on a 389-ds."""
    server = laboratory.ds389(host)
    server.stop()
    host.run("cat > /run/load.ldif; chmod 644 /run/load.ldif", stdin="\n".join(entries(ENTRIES)))
    host.run(["ns-slapd", "ldif2db", "-D", INSTANCE, "-n", "userRoot", "-i", "/run/load.ldif"])
    server.start()
    return LifeOf389(server=server, configuration=["cat", DSE]).states()


class LifeOfSlapd(Life):
    """On slapd, which builds an index as soon as it is added, and records nowhere that it did."""

    def logged(self) -> str:
        return self.server.log.read_text()

    def change(self, how: str) -> str:
        return f"dn: olcDatabase={{1}}mdb,cn=config\nchangetype: modify\n{how}: olcDbIndex\nolcDbIndex: {NAME} eq\n"

    def restart_in_a_build(self) -> None:
        self.server.modify(self.change("add"))
        assert self.server.is_building(), "the entries are too few for this machine"
        self.server.restart()

    def add_to_the_stopped(self) -> None:
        self.server.stop()
        self.server.host.run("slapmodify -n0 -F /etc/ldap/slapd.d", stdin=self.change("add"))
        self.server.start()

    def build(self) -> None:
        self.server.stop()
        self.server.host.run(f"slapindex -q -F /etc/ldap/slapd.d -b {SUFFIX} {NAME}")
        self.server.start()

    def states(self, name: str, add: Callable[[], None]) -> Iterator[Moment]:
        yield self.moment("missing")
        self.enter(add)
        yield self.moment(name)
        self.enter(self.build)
        yield self.moment("built")
        self.enter(self.server.restart)
        yield self.moment("restarted")
        self.enter(lambda: self.server.modify(self.change("delete")))
        yield self.moment("dropped")


def lives_of_slapd(laboratory: Laboratory, host: Host) -> Iterator[Moment]:
    """Yield the states on two slapds: what an index has had stays in its database after the index was dropped."""
    people = "\n".join(
        f"dn: uid=p{number},{SUFFIX}\nobjectClass: inetOrgPerson\nuid: p{number}\ncn: p{number}\nsn: x\n"
        f"{NAME}: {number}\n"
        for number in range(ENTRIES)
    )
    configuration = ["slapcat", "-n0", "-F", "/etc/ldap/slapd.d"]
    life = LifeOfSlapd(
        server=laboratory.slapd(host, database="index objectClass,uid eq", entries=people), configuration=configuration
    )
    yield from life.states("restarted while building", life.restart_in_a_build)
    life.server.stop()
    life.server.log.unlink()
    life = LifeOfSlapd(
        server=laboratory.slapd(host, database="index objectClass,uid eq", entries=people), configuration=configuration
    )
    yield from life.states("added, restarted", life.add_to_the_stopped)

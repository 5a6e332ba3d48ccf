"""Real servers with settings that lose changes in a power cut: found over LDAP and ssh, and cured by what is printed.

Whether a server flushes is known from itself: strace counts its calls of fdatasync, fsync and msync.
"""

from __future__ import annotations

import re
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from lab.directory_servers import DSE, account
from lab.host import Host
from lab.laboratory import need
from lab.terminal import paste
from lab.topology import Topology
from ldapdiag.evidence.storage.settings import StorageSettings
from ldapdiag.servers.ds389 import storage
from ldapdiag.servers.volumes.storage_rules import Window
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

    from lab.directory_servers import Server

CHECK = "unsafe-writes"
DURABLE = "nsslapd-db-durable-transaction"
DATABASES = "cn=config,cn=ldbm database,cn=plugins,cn=config"
FLUSHES = re.compile(r"(?:fdatasync|fsync)\(\d+<[^>]*(?:/log\.\d+|data\.mdb)>|MS_SYNC")
CHANGES = 10
UNSAFE = {
    "ldap": (DURABLE, "off", "seconds", 30),
    "app1": ("olcDbNoSync", "TRUE", "seconds", 30),
    "app2": ("olcDbEnvFlags", "nometasync", "the last ones", None),
}
"""The setting that is found, its value, and what it loses."""


def with_durable(server: Server, entry: str, value: str) -> None:
    """Write the setting into an entry of a stopped server's dse.ldif, as its manual has it."""
    head, start, rest = server.host.run(["cat", DSE]).partition(f"dn: {entry}\n")
    own, blank, others = rest.partition("\n\n")
    kept = "\n".join(line for line in own.splitlines() if not line.startswith(f"{DURABLE}:"))
    assert start, f"dse.ldif has no {entry}"
    server.host.run(["tee", DSE], stdin=f"{head}{start}{kept}\n{DURABLE}: {value}{blank}{others}")


def flushes(server: Server, folder: Path) -> int:
    """Count the flushes of the database or its transaction log while CHANGES changes are made."""
    trace = folder / "strace.txt"
    inside = ["nsenter", "-t", str(server.host.pid), "-p", "-m"]
    calls = "trace=fdatasync,fsync,msync"
    with subprocess.Popen(
        [*inside, "strace", "-f", "-y", "-e", calls, "-o", trace, "-p", str(server.pid)],
        stderr=subprocess.PIPE,
        text=True,
    ) as tracer:
        assert "attached" in tracer.stderr.readline()
        for number in range(CHANGES):
            entry = f"dn: {account('application_xyz')}\nchangetype: modify\nreplace: description\n"
            server.modify(f"{entry}description: {number} {time.time()}\n")
        subprocess.run([*inside, "sh", "-c", "kill -INT $(pidof strace)"], check=True)
    return len(FLUSHES.findall(trace.read_text()))


def settings_of(text: str) -> StorageSettings:
    (found,) = [one for one in facts_of(text, path="ldap/dse.ldif") if isinstance(one, StorageSettings)]
    return found


@pytest.fixture(scope="module")
def site(laboratory):
    """ldap: 389-ds that does not flush; app1: slapd that does not flush; app2: slapd with nometasync."""
    need("ns-slapd", "slapd", "strace", "ldapmodify")
    with Topology() as running:
        running.first = laboratory.ds389(running.ldap)
        running.first.stop()
        with_durable(running.first, f"cn=bdb,{DATABASES}", "off")
        running.first.start()
        running.second = laboratory.slapd(running.app1, database="dbnosync\nenvflags nordahead")
        running.third = laboratory.slapd(running.app2, database="envflags nometasync")
        yield running


def test_unsafe_settings_are_found_over_ldap_and_ssh_and_cured(site, desk_of, tmp_path):
    desk = desk_of(site, "ldap", "app1", "app2")
    servers = {"ldap": (site.first, 0), "app1": (site.second, 0), "app2": (site.third, CHANGES)}
    assert {name: flushes(server, tmp_path) for name, (server, _) in servers.items()} == {
        name: count for name, (_, count) in servers.items()
    }
    said = desk.diagnose("ssh://ldap", "ssh://app1", "ssh://app2")
    by_ssh = [one for one in said.found(CHECK) if one["observed"]["setting"]]  # others are of volumes
    assert told(by_ssh) == UNSAFE
    for name, (server, _) in servers.items():
        local = (f"ldapi://{server.ldapi}", "-Y", "EXTERNAL", "local:")
        over_ldap = desk.diagnose(*local, host=server.host).found(CHECK)
        assert list(told(over_ldap).values()) == [UNSAFE[name]]
    for found in by_ssh:
        (remedy,) = found["remedies"]
        paste(servers[found["server"]][0].host, remedy["text"])
    assert {flushes(server, tmp_path) for server, _ in servers.values()} == {CHANGES}
    again = desk.diagnose("ssh://ldap", "ssh://app1", "ssh://app2")
    settings = {
        one["subject"] for one in again.report["verdicts"] if one["check"] == CHECK and one["outcome"] == "clear"
    }
    assert {"settings of ldap", "{1}mdb of app1", "{1}mdb of app2"} <= settings
    assert not told(again.found(CHECK))
    for found in by_ssh:
        paste(servers[found["server"]][0].host, found["remedies"][0]["undo"])
    assert told(desk.diagnose("ssh://ldap", "ssh://app1", "ssh://app2").found(CHECK)) == UNSAFE


def told(found):
    """Return the setting, its value, and what it loses, by server, of findings about settings."""
    rows = [(one["server"], one["observed"]) for one in found]
    return {
        server: tuple(observed[name] for name in ("setting", "value", "loss", "window_seconds"))
        for server, observed in rows
        if observed["setting"]
    }


def test_the_guides_entry_is_ignored_beside_that_of_the_implementation(laboratory, tmp_path):
    """Red Hat's tuning guide sets it in cn=config,cn=ldbm database: 2.3.1 shows it there and flushes as before."""
    need("ns-slapd", "strace")
    with Host("ldap") as host:
        server = laboratory.ds389(host)
        server.stop()
        with_durable(server, DATABASES, "off")
        server.start()
        assert flushes(server, tmp_path) == CHANGES
        for text in (host.run(["cat", DSE]), server.search(DATABASES, "(objectClass=*)") + "\n"):
            first, second = storage.durability(settings_of(text), (2, 3, 1))
            assert (first.window, second.effective) == (Window.NONE, False)


def test_with_mdb_the_setting_has_no_effect(laboratory, tmp_path):
    need("ns-slapd", "strace")
    with Host("ldap") as host:
        server = laboratory.ds389(host, storage="mdb")
        before = flushes(server, tmp_path)
        server.stop()
        with_durable(server, f"cn=mdb,{DATABASES}", "off")
        server.start()
        assert flushes(server, tmp_path) == before == CHANGES
        for text in (host.run(["cat", DSE]), server.search(DATABASES, "(objectClass=*)") + "\n"):
            (one,) = storage.durability(settings_of(text), (2, 3, 1))
            assert (one.value, one.window, one.effective) == ("off", Window.NONE, False)


def test_a_running_server_refuses_the_setting(laboratory):
    """So the remedy stops it; batches may be changed while it runs."""
    with Host("ldap") as host:
        server = laboratory.ds389(host)
        change = f"dn: cn=bdb,{DATABASES}\nchangetype: modify\nreplace: {{0}}\n{{0}}: {{1}}\n"
        modify = ["ldapmodify", "-Q", "-Y", "EXTERNAL", "-H", f"ldapi://{server.ldapi}"]
        refused = host.attempt(modify, stdin=change.format(DURABLE, "off"))
        assert refused.returncode == 53  # unwillingToPerform
        server.modify(change.format("nsslapd-db-transaction-batch-val", "5"))
        settings = settings_of(host.run(["cat", DSE]))
        one = storage.durability(settings, (2, 3, 1))[0]
        assert (one.window, one.value) == (Window.LAST, "5")

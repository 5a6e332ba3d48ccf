"""The captured incident 5a with another product at the server's end: the same verdict, in that product's own words.

The socket tables are the captured ones. What the server says of itself is written here, from those tables, as each
product writes it; that no ghost has one account alone shows who can name the account of a port.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from command import diagnose
from incidents import FOO, GHOSTS, INCIDENTS, SHIZZLE, XYZ, diagnosed, finding, ghost_ports
from ldapdiag.evidence.family import Family
from ldapdiag.remedy import RemedyKind
from ldapdiag.servers.products import product_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ldapdiag.diagnosis import Diagnosis

CASE = INCIDENTS / GHOSTS
TABLES = ("captured-at.txt", "ss-tan.txt", "ss-tanope.txt", "ss-tinHO.txt")
ESTABLISHED = re.compile(r"ESTAB\s+\d+\s+\d+\s+\[::ffff:10\.77\.1\.2\]:389\s+\[::ffff:(10\.77\.[23]\.2)\]:(\d+)\s")


def held() -> Iterator[tuple[str, int, str]]:
    """Yield client, port and account of what is established at the server; app1's by the parity of the port."""
    for line in (CASE / "ldap" / "ss-tan.txt").read_text().splitlines():
        if found := ESTABLISHED.match(line):
            client, port = found[1], int(found[2])
            yield client, port, (XYZ, FOO)[port // 2 % 2] if client == "10.77.2.2" else SHIZZLE


def table(version: str) -> str:
    rows = "".join(
        f"connection: {slot}:20261120085231Z:3:3::{account}:LDAP\n" for slot, (_, _, account) in enumerate(held(), 64)
    )
    counters = f"currentconnections: {len(list(held()))}\nthreads: 30\ndtablesize: 1024\nconnectionpeak: 310\n"
    return f"dn: cn=monitor\nversion: {version}\n{rows}{counters}\n"


def subtree(version: str) -> str:
    rows = "".join(
        f'connection: connID="{number}" connectTime="20261120085231Z" source="{client}:{port}" '
        f'destination="10.77.1.2:389" ldapVersion="3" authDN="{account}" security="none" opsInProgress="0"\n'
        for number, (client, port, account) in enumerate(held())
    )
    general = f"vendorVersion: {version}\ncurrentConnections: {len(list(held()))}\n"
    return (
        f"dn: cn=monitor\nobjectClass: ds-monitor-entry\n{general}\n"
        f"dn: cn=Client Connections,cn=monitor\nobjectClass: ds-monitor-entry\n{rows}\n"
    )


def properties(limit: str, connections: str) -> str:
    rows = f"idle-time-limit : {limit}\n{connections} : 0\n"
    return f"Property : Value(s)\n---------:---------\n{rows}"


@dataclass(frozen=True, kw_only=True)
class Site:
    family: Family
    name: str
    monitor: str
    configuration: str
    remedy: str
    knows_ports: bool

    def diagnosed(self, folder: Path) -> Diagnosis:
        return diagnosed(self.written(folder), *(CASE / host for host in ("app1", "app2", "fw")))

    def written(self, folder: Path) -> Path:
        ldap = folder / "ldap"
        ldap.mkdir()
        for name in TABLES:
            shutil.copy(CASE / "ldap" / name, ldap)
        (ldap / "monitor.txt").write_text(self.monitor)
        (ldap / "configuration.txt").write_text(self.configuration)
        return ldap


SITES = [
    Site(
        family=Family.DSEE,
        name="Directory Server Enterprise Edition 11.1.1",
        monitor=table("Sun-Directory-Server/11.1.1.7.0"),
        configuration="idle-timeout           :  none\nlook-through-limit     :  5000\n",
        remedy='dsconf set-server-prop -h "${LDAP_HOST:?}" -p 389 idle-timeout:300',
        knows_ports=False,
    ),
    Site(
        family=Family.DSEE,
        name="Directory Server Enterprise Edition 5.2.0",
        monitor=table("Sun-ONE-Directory/5.2_Patch_4"),
        configuration="dn: cn=config\nnsslapd-idletimeout: 0\nnsslapd-infolog-area: 0\n",
        remedy="nsslapd-idletimeout: 300",
        knows_ports=False,
    ),
    Site(
        family=Family.OPENDJ,
        name="OpenDJ 4.10.1",
        monitor=subtree("OpenDJ Server 4.10.1"),
        configuration=properties("5 m", "max-allowed-client-connections"),  # which this version ignores
        remedy='--set "attribute-type:ds-rlim-idle-time-limit" --set "value:300"',
        knows_ports=True,
    ),
    Site(
        family=Family.OPENDJ,
        name="ForgeRock Directory Services 6.5.0",
        monitor=subtree("ForgeRock Directory Services 6.5.0"),
        configuration=properties("0 ms", "max-allowed-client-connections"),
        remedy='--set "idle-time-limit:300 s"',
        knows_ports=True,
    ),
    Site(
        family=Family.OPENDJ,
        name="Oracle Unified Directory 12.2.1",
        monitor=subtree("Oracle Unified Directory 12.2.1.4.0"),
        configuration="dn: cn=config\nobjectClass: ds-cfg-root-config\ncn: config\nds-cfg-size-limit: 1000\n\n",
        remedy='--set "idle-time-limit:300 s"',
        knows_ports=True,
    ),
    Site(
        family=Family.PING,
        name="PingDirectory 9.3.0",
        monitor=subtree("Ping Identity Directory Server 9.3.0.0"),
        configuration=properties("0 s", "maximum-concurrent-connections"),
        remedy='--set "idle-time-limit:300 s"',
        knows_ports=True,
    ),
]


@pytest.mark.parametrize("site", [pytest.param(site, id=site.name) for site in SITES])
class TestEveryFamily:
    def test_no_idle_timeout_is_found_and_set_in_its_own_words(self, site: Site, tmp_path: Path) -> None:
        found = finding(site.diagnosed(tmp_path), "idle-timeout")
        assert found.observed["current_seconds"] == 0
        assert found.observed["recommended_seconds"] == 300
        reaches = product_of(site.family).idle_enforcement.at(()).reaches_open_connections is True
        name = "drain: " if reaches else "limit: "
        (setting,) = (one for one in found.remedies if one.title.startswith(name) and "idle" in one.title)
        assert (setting.family, site.remedy in setting.text) == (site.family, True)
        assert (setting is found.remedies[0]) is reaches, "what frees descriptors now is first"
        assert all(remedy.family in {site.family, None} for remedy in found.remedies)

    def test_the_ghosts_have_their_accounts_where_the_server_tells_ports(self, site: Site, tmp_path: Path) -> None:
        found = finding(site.diagnosed(tmp_path), "ghost-connections")
        assert len(list(held())) == 310
        truth = Counter((XYZ, FOO)[port // 2 % 2] for port in ghost_ports(GHOSTS))
        assert found.observed["ghosts"] == len(ghost_ports(GHOSTS)) == 268
        assert found.observed["accounts"] == (dict(truth) if site.knows_ports else None)

    def test_the_report_names_the_product(self, site: Site, tmp_path: Path) -> None:
        hosts = [CASE / host for host in ("app1", "app2", "fw")]
        told = diagnose(site.written(tmp_path), *hosts)
        assert re.search(rf"^ldap +{re.escape(site.name)} · 310 connections", told.text, re.MULTILINE)


def test_a_limit_that_is_set_and_ignored_is_named(tmp_path: Path) -> None:
    site = next(site for site in SITES if site.name == "OpenDJ 4.10.1")
    found = finding(site.diagnosed(tmp_path), "idle-timeout")
    assert "Whatever the setting, this version ignores idle-time-limit (OpenDJ issue 697)." in found.detail


def test_a_limit_that_opendj_ignores_counts_again_once_every_account_has_it(tmp_path: Path) -> None:
    site = next(site for site in SITES if site.name == "OpenDJ 4.10.1")
    ldap = site.written(tmp_path)
    rows = "attribute-type : ds-rlim-idle-time-limit\nenabled : true\nvalue : 300\n"
    (ldap / "virtual.txt").write_text(f"Property : Value(s)\n---------:---------\n{rows}")
    found = finding(diagnosed(ldap, *(CASE / host for host in ("app1", "app2", "fw"))), "idle-timeout")
    assert found.observed["current_seconds"] == 300


def test_of_a_product_whose_commands_are_not_known_the_remedies_are_advice(tmp_path: Path) -> None:
    rows = "".join(
        f"connection: {number} : {client} : 2026-11-20 08:52:31 GMT: 0 : 3 : {account} : :\n"
        for number, (client, _, account) in enumerate(held(), 1600)
    )
    root = "version: IBM Security Directory (SSL), Version 6.4\ncurrentconnections: 310\nlivethreads: 15\n"
    ibm = Site(
        family=Family.IBM,
        name="IBM Security Directory Server 6.4.0",
        monitor=f"dn: cn=monitor\n{root}\ndn: cn=connections,cn=monitor\n{rows}\n",
        configuration="ds01: no configuration of this product is read\n",
        remedy="Set the idle timeout of the directory server to 300 s (no commands for IBM Security Directory Server",
        knows_ports=False,
    )
    diagnosis = ibm.diagnosed(tmp_path)
    ghosts, idle = finding(diagnosis, "ghost-connections"), finding(diagnosis, "idle-timeout")
    assert ghosts.observed["ghost_client_ports"] == ghost_ports(GHOSTS)
    assert idle.observed["current_seconds"] is None
    (setting,) = (one for one in idle.remedies if ibm.remedy in one.text)
    assert (setting.kind, setting.family) == (RemedyKind.ADVICE, None)
    hosts = [CASE / host for host in ("app1", "app2", "fw")]
    assert f"{ibm.name} · 310 connections" in diagnose(tmp_path / "ldap", *hosts).text

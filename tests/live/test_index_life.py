"""The life of an index of a real 389-ds, audited with the same access log all through: from before the index.

The truth is the server's own: whether a search of the suffix finds the entry that has the value.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from command import ldapdiag
from lab.directory_servers import DSE, INSTANCE, SUFFIX
from lab.odd_directory import ACCESS, ERRORS, INDEXES_389, add_index, build, entries
from lab.topology import Topology

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lab.directory_servers import Server

ENTRIES = 6000
NAME, OTHER, LANGUAGE = "employeeNumber", "title", "preferredLanguage"
ON_SCANS = frozenset({"missing-index", "index-not-built", "scan-limit-exceeded", "unindexable-filter"})
WRONG = "wrong-answers-possible"
NOT_LOGGED = 62
"""Seconds: a pause of an errors log is longer than a minute."""


@dataclass(frozen=True)
class Site:
    server: Server
    folder: Path

    def audit(self, errors: str | None, access: str = "", *, dated: bool = True) -> dict[str, Any]:
        """Return the report with this errors log (None: there is none), and with the log from before the index.

        `dated`: the configuration has time stamps.
        """
        lines = self.server.host.run(["cat", DSE]).splitlines(keepends=True)
        kept = [line for line in lines if dated or not line.startswith(("createTimestamp", "modifyTimestamp"))]
        (self.folder / "dse.ldif").write_text("".join(kept))
        (self.folder / "errors").unlink(missing_ok=True)
        if errors is not None:
            (self.folder / "errors").write_text(errors)
        if access:
            (self.folder / "access").write_text(access)
        report: dict[str, Any] = json.loads(ldapdiag("indexes", self.folder, "--format", "json").text)
        return report

    def errors(self) -> str:
        return self.server.host.run(["cat", ERRORS])

    def finds(self, name: str = NAME) -> bool:
        value = {NAME: "100", OTHER: "t3"}[name]
        return self.server.search(SUFFIX, f"({name}={value})", "1.1").count("dn: ") > 0


def accused(report: dict[str, Any], checks: frozenset[str], name: str = NAME) -> set[str]:
    """Return the checks that have a finding on an attribute."""
    found = [one for one in report["findings"] if one["check"] in checks]
    return {one["check"] for one in found if name.lower() in str(one["observed"].get("attribute")).lower()}


def state(report: dict[str, Any], name: str = NAME) -> str | None:
    """Return the state of an index by the finding on its answers."""
    own = [one for one in report["findings"] if one["check"] == WRONG]
    return next((one["observed"]["state"] for one in own if one["observed"]["attribute"].lower() == name.lower()), None)


def not_judged(report: dict[str, Any], check: str) -> str:
    own = (one for one in report["verdicts"] if (one["check"], one["outcome"]) == (check, "not-judged"))
    return " ".join(one["reason"] for one in own)


@pytest.fixture(scope="module")
def site(laboratory, tmp_path_factory) -> Iterator[Site]:
    with Topology(apps=0) as topology:
        server = laboratory.ds389(topology.ldap)
        server.stop()
        server.host.run("cat > /run/load.ldif; chmod 644 /run/load.ldif", stdin="\n".join(entries(ENTRIES)))
        server.host.run(["ns-slapd", "ldif2db", "-D", INSTANCE, "-n", "userRoot", "-i", "/run/load.ldif"])
        server.start()
        folder = tmp_path_factory.mktemp("life") / "slapd-live"
        folder.mkdir()
        for number in range(30):
            server.search(SUFFIX, f"({NAME}={100 + number})", "1.1")
        (folder / "access").write_text(server.host.run(["cat", ACCESS]))
        yield Site(server, folder)


def test_the_life_of_an_index_with_one_log(site: Site) -> None:
    assert accused(site.audit(site.errors()), ON_SCANS) == {"missing-index"}
    assert site.finds()
    time.sleep(1)  # times of entries are in whole seconds: the index is younger than the last search
    add_index(site.server, NAME)
    build(site.server, "b-uid", "uid")  # so that the errors log has lines from after the change
    unbuilt = site.audit(site.errors())
    assert site.finds()
    assert accused(unbuilt, ON_SCANS) == {"index-not-built"}
    assert state(unbuilt) == "unused"
    script = ldapdiag("indexes", site.folder, "--script").text
    assert f"step='Build {NAME} (built) in " in script
    for none in (None, "\n".join(site.errors().splitlines()[:5]) + "\n"):
        report = site.audit(none)
        assert state(report) is None
        assert accused(report, ON_SCANS) == set()
        assert NAME in not_judged(report, WRONG)

    build(site.server, f"b-{NAME}", NAME)
    for restarts in (False, True):
        if restarts:
            site.server.restart()
        assert site.finds()
        for errors in (site.errors(), None):
            report = site.audit(errors)
            assert accused(report, ON_SCANS) == set(), restarts
            assert state(report) is None
            assert NAME in not_judged(report, "index-not-built")
            assert ldapdiag("indexes", site.folder, "--script").text.endswith("# nothing to change\n")
            assert report["indexes"][0]["indexed_later"][0]["shape"] == f"({NAME}=?)"

    before = (site.folder / "access").read_text()
    across = site.audit(None, site.server.host.run(["cat", ACCESS]), dated=False)
    assert accused(across, ON_SCANS) == set()
    assert "no time stamps of the indexes" in not_judged(across, "index-not-built")
    (site.folder / "access").write_text(before)

    site.server.modify(f"dn: cn={NAME},{INDEXES_389}\nchangetype: delete\n")
    assert site.finds()
    assert accused(site.audit(site.errors()), ON_SCANS) == {"missing-index"}


def test_a_server_that_could_not_log_its_builds(site: Site) -> None:
    """It is restarted meanwhile, too; its access log has the task that built the index."""
    logs = "dn: cn=config\nchangetype: modify\nreplace: nsslapd-errorlog-logging-enabled\n"
    site.server.modify(f"{logs}nsslapd-errorlog-logging-enabled: off\n")
    add_index(site.server, OTHER)
    build(site.server, f"b-{OTHER}", OTHER)
    site.server.restart()
    time.sleep(NOT_LOGGED)
    site.server.modify(f"{logs}nsslapd-errorlog-logging-enabled: on\n")
    site.server.restart()
    assert site.finds(OTHER)
    errors = site.errors()
    assert f"Indexing attribute: {OTHER}" not in errors
    report = site.audit(errors, site.server.host.run(["cat", ACCESS]))
    assert state(report, OTHER) is None
    assert "so a build may be missing there" in not_judged(report, WRONG)


def test_long_lists_are_found_though_the_index_has_no_time_stamp(site: Site) -> None:
    """Nearly all entries have p0, more than an ID list may have, and ten have p10."""
    add_index(site.server, LANGUAGE)
    build(site.server, f"b-{LANGUAGE}", LANGUAGE)
    begun = len(site.server.host.run(["cat", ACCESS]).splitlines())
    for value in ("p10", "p0") * 5:
        site.server.search(SUFFIX, f"({LANGUAGE}={value})", "1.1")
    lines = site.server.host.run(["cat", ACCESS]).splitlines(keepends=True)[begun:]
    assert sum("notes=A" in line for line in lines) == 5
    report = site.audit(None, "".join(lines), dated=False)
    assert accused(report, ON_SCANS, LANGUAGE) == {"scan-limit-exceeded"}
    assert not_judged(report, "index-not-built") == ""

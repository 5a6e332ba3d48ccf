"""The founding incidents as whole captures: the expected verdicts, against the records of the programs."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

import examples
from incidents import (
    APP1,
    APP2,
    CHURN,
    DURING,
    EXHAUSTION,
    FOO,
    GHOSTS,
    INCIDENTS,
    LEAK,
    SHIZZLE,
    SNAT,
    TIMEOUT,
    XYZ,
    clear,
    diagnosed,
    finding,
    findings,
    ghost_ports,
    ghosts,
    judged,
    not_judged,
    truth,
)
from ldapdiag.catalogue import installed_checks
from ldapdiag.diagnosis import diagnose
from ldapdiag.finding import Clear, Confidence, NotJudged, Severity
from ldapdiag.sources.gathering import gather

EXAMPLE = Path(__file__).parents[2] / "examples" / "incident"
HOSTS = ("app1", "app2", "fw", "ldap")
TELLINGS = {
    "netstat -an": ("netstat-an.txt",),
    "netstat -tano": ("netstat-tano.txt",),
    "netstat -tanp": ("netstat-tanp.txt",),
    "ss -tan": ("ss-tan.txt",),
    "ss -tanope": ("ss-tanope.txt",),
    "ss -tiepmnaO": ("ss-tiepmnaO.txt",),
    "ss -tinHO": ("ss-tinHO.txt",),
    "/proc": ("proc-net-tcp.txt", "proc-net-tcp6.txt"),
    "lsof": ("lsof-nP-iTCP.txt",),
}
USUAL, HEADERLESS = "ss -tan", "ss -tinHO"
LOOKS = ("1-server-first", "2-client-first", "3-second-look")


@pytest.fixture(params=["ours", pytest.param("corpus", marks=pytest.mark.long)])
def place(request: pytest.FixtureRequest) -> Path:
    """Return where the cases lie: our own trimmed copies, and the shared corpus in full."""
    return INCIDENTS if request.param == "ours" else request.getfixturevalue("corpus")


def hosts(place: Path, case: str, *left_out: str) -> list[Path]:
    return [place / case / host for host in HOSTS if host not in left_out]


def told_of(folder: Path, telling: str) -> list[Path]:
    return [folder / name for name in TELLINGS[telling]]


class TestGhostsBehindAFirewall:
    """5a: fw drops its state after 30 s and notifies neither end; a pool on app1 is idle for longer."""

    @pytest.fixture
    def diagnosis(self, place: Path) -> Any:
        return diagnosed(*hosts(place, GHOSTS))

    def test_exactly_the_ghosts_are_named_by_port(self, diagnosis: Any) -> None:
        found = finding(diagnosis, "ghost-connections")
        assert (found.subject, found.severity, found.server) == (APP1, Severity.CRITICAL, "ldap")
        assert found.hosts == ("app1", "ldap")
        assert found.observed["ghost_client_ports"] == ghost_ports(GHOSTS)
        drawn = {"ghost_client_ports", "ghost_samples", "idle_ages"}
        assert {name: None if name in drawn else value for name, value in found.observed.items()} == {
            **dict.fromkeys(drawn),
            "server": "10.77.1.2:389",
            "client": "10.77.2.2",
            "client_hosts": ["app1"],
            "server_count": 270,
            "client_count": 2,
            "matched": 2,
            "ghosts": 268,
            "unproven": 0,
            "pairing": "4-tuple",
            "path": "direct",
            "style": "silent-drop",
            "accounts": {XYZ: 268},
            "ghosts_possible": 0,
            "ghost_client_ports_possible": [],
        }

    def test_they_are_certain_because_the_firewall_lacks_them(self, diagnosis: Any) -> None:
        found = finding(diagnosis, "ghost-connections")
        assert found.confidence is Confidence.CERTAIN
        assert "fw carries the live connections and has no entry for any of these 268" in found.detail

    def test_the_other_host_is_clear(self, diagnosis: Any) -> None:
        assert "40 of them held at both ends" in clear(diagnosis, "ghost-connections", APP2).reason
        assert findings(diagnosis, "stranded-connections") == {}
        assert findings(diagnosis, "unreleased-connections") == {}

    def test_the_accounts_have_their_shares(self, diagnosis: Any) -> None:
        observed = finding(diagnosis, "connection-share").observed
        by_account = {one["bind_dn"]: one["connections"] for one in observed["by_account"]}
        assert by_account == {XYZ: 270, FOO: 34, SHIZZLE: 6, "cn=directory manager": 1}
        by_client = {one["client"]: one["connections"] for one in observed["by_client"]}
        assert by_client == {**truth(GHOSTS)["established_by_source"], "127.0.0.1": 1}

    def test_the_idle_timeout_is_off_and_a_ghost_lives_975_seconds(self, diagnosis: Any) -> None:
        observed = finding(diagnosis, "idle-timeout").observed
        assert (observed["current_seconds"], observed["keepalive_seconds"]) == (0, 300)
        assert observed["ghost_lifetime_seconds"] == 300 + 75 * 9 == 975

    def test_the_box_timeout_is_the_firewalls_own_word(self, diagnosis: Any) -> None:
        observed = finding(diagnosis, "idle-timeout").observed
        assert (observed["box_lower_seconds"], observed["box_upper_seconds"]) == (30, 30)
        assert {path["client_network"] for path in observed["paths"]} == {"10.77.2.0/24", "10.77.3.0/24"}
        assert all(path["source"] == "nf_conntrack_tcp_timeout_established of fw" for path in observed["paths"])

    def test_drain_limit_cure_and_tidy_come_in_this_order_with_their_commands(self, diagnosis: Any) -> None:
        found = finding(diagnosis, "idle-timeout")
        assert found.severity is Severity.HIGH
        steps = [remedy.title.partition(":")[0] for remedy in found.remedies]
        assert steps == ["drain", "drain", "limit", "cure", "cure", "at clients", "at clients", "tidy"]
        close, restart, limit, cure, at_client, _, _, tidy = found.remedies
        assert (close, restart) == finding(diagnosis, "ghost-connections").remedies
        assert restart.is_alternative
        assert {int(port) for port in re.findall(r"\b[0-9]{5}\b", close.text)} == set(ghost_ports(GHOSTS))
        assert "42 that are in use or not proven dead" in restart.risk
        assert "nsslapd-idletimeout: 300" in limit.text
        assert "nsslapd-idletimeout: 0" in limit.undo
        assert "nsslapd-tcp-keepalive-time: 15" in cure.text
        assert (str(at_client.where), at_client.target) == ("client", "app1")
        assert (str(tidy.where), tidy.target) == ("box", "fw")
        assert "nf_conntrack_tcp_timeout_established" in tidy.text
        assert (found.observed["recommended_seconds"], found.observed["tidy_seconds"]) == (300, 20)
        assert found.observed["tidy_unsafe"] is True

    def test_who_is_never_closed_is_said(self, diagnosis: Any) -> None:
        detail = finding(diagnosis, "idle-timeout").detail
        assert "Directory Manager" in detail
        assert "6004" in detail

    def test_no_living_connection_would_be_cut(self, diagnosis: Any) -> None:
        assert finding(diagnosis, "idle-timeout").observed["would_cut_living"] == 0

    def test_335_of_20000_descriptors_are_no_shortage(self, diagnosis: Any) -> None:
        assert "335 of 20,000" in clear(diagnosis, "descriptor-headroom", "ldap").reason

    def test_keepalive_comes_too_late_for_the_box(self, diagnosis: Any) -> None:
        observed = finding(diagnosis, "keepalive-too-slow").observed
        assert (observed["keepalive_seconds"], observed["box_upper_seconds"]) == (300, 30)

    def test_without_the_firewall_the_box_timeout_is_unknown_or_a_bracket_around_30(self, place: Path) -> None:
        diagnosis = diagnosed(*hosts(place, GHOSTS, "fw"))
        observed = finding(diagnosis, "idle-timeout").observed
        assert (observed["box_lower_seconds"] or 0) < 30
        assert observed["box_upper_seconds"] is None or observed["box_upper_seconds"] >= 30
        assert finding(diagnosis, "ghost-connections").observed["ghost_client_ports"] == ghost_ports(GHOSTS)

    def test_an_earlier_look_changes_nothing_about_who_is_dead(self) -> None:
        earlier = [INCIDENTS / DURING / host for host in ("app1", "ldap")]
        diagnosis = diagnosed(*hosts(INCIDENTS, GHOSTS), *earlier)
        assert finding(diagnosis, "ghost-connections").observed["ghost_client_ports"] == ghost_ports(GHOSTS)
        assert {host.host: len(host.snapshots) for host in diagnosis.hosts} == {
            "app1": 2,
            "app2": 1,
            "fw": 0,
            "ldap": 2,
        }

    def test_the_folder_of_the_case_is_enough(self) -> None:
        whole = diagnose(gather([str(INCIDENTS / GHOSTS)]), installed_checks())
        parts = diagnosed(*hosts(INCIDENTS, GHOSTS))
        assert whole.judged == parts.judged


PAIRS = [(one, other) for one, other in product(TELLINGS, TELLINGS) if one == other or USUAL in (one, other)]
"""Each telling with itself and with the usual one, at either end."""


class TestAnySingleTelling:
    """5a: one tool's word from each end is enough for the same 268."""

    @pytest.mark.parametrize("timed", [True, False], ids=["timed", "untimed"])
    @pytest.mark.parametrize(("at_server", "at_client"), examples.some(PAIRS, 6))
    def test_it_names_the_same_ghosts_and_says_how_sure_it_is(
        self, place: Path, at_server: str, at_client: str, *, timed: bool
    ) -> None:
        ends = [*told_of(place / GHOSTS / "ldap", at_server), *told_of(place / GHOSTS / "app1", at_client)]
        if timed:
            ends += [place / GHOSTS / host / "captured-at.txt" for host in ("ldap", "app1")]
        alone = finding(diagnosed(*ends), "ghost-connections")
        boxed = finding(diagnosed(*ends, place / GHOSTS / "fw" / "conntrack-L.txt"), "ghost-connections")
        for found in (alone, boxed):
            assert found.observed["ghost_client_ports"] == ghost_ports(GHOSTS)
            assert found.severity is Severity.CRITICAL
        assert boxed.confidence is Confidence.CERTAIN
        assert "has no entry for any of these 268" in boxed.detail
        if HEADERLESS in {at_server, at_client}:
            assert alone.confidence is Confidence.POSSIBLE
            assert "without its header" in alone.detail
        else:
            assert alone.confidence is Confidence.LIKELY
            assert "network namespace" in alone.detail
            assert ("lsof" in alone.detail) == (at_client == "lsof")

    @pytest.mark.parametrize("telling", [telling for telling in TELLINGS if telling != "lsof"])
    def test_it_clears_the_other_host(self, place: Path, telling: str) -> None:
        files = [path for host in ("ldap", "app1", "app2") for path in told_of(place / GHOSTS / host, telling)]
        diagnosis = diagnosed(*files)
        assert ghosts(diagnosis) == 268
        assert "40 of them held at both ends" in clear(diagnosis, "ghost-connections", APP2).reason

    @pytest.mark.parametrize("box", ["conntrack-L.txt", "conntrack-L-extended.txt", "proc-nf_conntrack.txt"])
    def test_any_telling_of_the_firewalls_table_makes_it_certain(self, place: Path, box: str) -> None:
        ends = [place / GHOSTS / host / "ss-tan.txt" for host in ("ldap", "app1")]
        found = finding(diagnosed(*ends, place / GHOSTS / "fw" / box), "ghost-connections")
        assert found.confidence is Confidence.CERTAIN


def test_without_the_clients_folder_its_connections_are_not_judged_and_it_says_how(place: Path) -> None:
    diagnosis = diagnosed(*hosts(place, GHOSTS, "app1"))
    assert findings(diagnosis, "ghost-connections") == {}
    missing = not_judged(diagnosis, "ghost-connections", APP1)
    assert "no socket table of 10.77.2.2" in missing.reason
    assert missing.missing == ("socket-table",)
    assert missing.how is not None
    assert missing.how.startswith("on 10.77.2.2: ss -tan")
    assert {"client": "10.77.2.2", "connections": 270} in finding(diagnosis, "connection-share").observed["by_client"]
    assert isinstance(judged(diagnosis, "ghost-connections")[APP2], Clear)


def test_a_client_that_keeps_what_it_opens_is_a_leak_and_no_ghost(place: Path) -> None:
    diagnosis = diagnosed(*hosts(place, LEAK))
    assert ghosts(diagnosis) == len(ghost_ports(LEAK)) == 0
    assert "300 of them held at both ends" in clear(diagnosis, "ghost-connections", APP1).reason
    found = finding(diagnosis, "unreleased-connections")
    assert found.hosts == ("app1", "ldap")
    assert "application_xyz" in found.title
    assert "app1" in found.title
    assert found.observed == {
        "server": "10.77.1.2:389",
        "client": "10.77.2.2",
        "connections": 300,
        "idle": 300,
        "accounts": {XYZ: 300},
    }
    assert [str(remedy.where) for remedy in found.remedies] == ["client"]
    assert isinstance(judged(diagnosis, "unreleased-connections")[APP2], Clear)


def test_behind_address_translation_the_boxes_table_pairs_the_ends(place: Path) -> None:
    diagnosis = diagnosed(*hosts(place, SNAT))
    found = finding(diagnosis, "ghost-connections")
    assert ghosts(diagnosis) == truth(SNAT)["ghosts_still_established_at_server"] == 80
    assert found.observed["ghost_client_ports"] == ghost_ports(SNAT)
    assert (found.observed["path"], found.observed["pairing"]) == ("nat", "box-table")
    assert (found.observed["server_count"], found.observed["matched"]) == (122, 42)
    assert found.observed["client_hosts"] == ["app1", "app2"]
    assert "NAT" in found.detail
    assert "box-table" in found.detail
    assert found.confidence is Confidence.CERTAIN
    assert findings(diagnosis, "stranded-connections") == {}


def test_behind_address_translation_without_the_box_nothing_is_claimed(place: Path) -> None:
    diagnosis = diagnosed(*hosts(place, SNAT, "fw"))
    missing = not_judged(diagnosis, "ghost-connections", "10.77.1.1 -> 10.77.1.2:389")
    assert "conntrack -L" in (missing.how or "")
    assert findings(diagnosis, "stranded-connections") == {}


def test_an_idle_timeout_above_the_boxes_is_named_with_the_ghosts_still_there(place: Path) -> None:
    diagnosis = diagnosed(*hosts(place, TIMEOUT))
    found = finding(diagnosis, "ghost-connections")
    assert found.observed["ghost_client_ports"] == ghost_ports(TIMEOUT)
    assert found.observed["ghosts"] == truth(TIMEOUT)["ghosts_still_established_at_server"] == 5
    idle = finding(diagnosis, "idle-timeout")
    assert (idle.observed["current_seconds"], idle.observed["ghost_lifetime_seconds"]) == (90, 90)
    assert (idle.observed["box_lower_seconds"], idle.observed["box_upper_seconds"]) == (30, 30)
    assert "90 s is above the firewall's 30 s" in idle.title
    assert "does not reach connections that were opened, or bound, before it was set" in idle.detail
    assert not any(remedy.title.startswith("limit") for remedy in idle.remedies), "90 s are short enough"
    assert idle.remedies[:2] == found.remedies


class TestChurn:
    """6e: healthy; 200 connections a second open and close between two snapshots."""

    TIMES = "captured-at.txt"

    def look(self, place: Path, name: str, host: str, *, timed: bool, only: str = "") -> list[Path]:
        folder = place / CHURN / f"{name}-{host}"
        files = [path for path in sorted(folder.glob("*")) if only in path.name or path.name == self.TIMES]
        return [path for path in files if timed or path.name != self.TIMES]

    def healthy(self, files: list[Path]) -> Any:
        diagnosis = diagnosed(*files)
        assert findings(diagnosis, "ghost-connections") == {}
        assert findings(diagnosis, "stranded-connections") == {}
        return diagnosis

    @pytest.mark.parametrize("timed", [True, False], ids=["timed", "untimed"])
    @pytest.mark.parametrize(("server", "client"), examples.some([*product(LOOKS, LOOKS)], 2))
    @pytest.mark.parametrize("only", ["", "ss-tan.txt"], ids=["all", "ss"])
    def test_two_looks_alone_make_no_ghost(
        self, place: Path, server: str, client: str, only: str, *, timed: bool
    ) -> None:
        files = self.look(place, server, "ldap", timed=timed, only=only)
        files += self.look(place, client, "app1", timed=timed, only=only)
        verdict = judged(self.healthy(files), "ghost-connections")[APP1]
        assert isinstance(verdict, Clear | NotJudged)
        if isinstance(verdict, NotJudged):
            assert "not proven dead" in verdict.reason
            told = (
                "connections open and close",
                "closed in the last minute",
                "opened after the other end's table was taken",
            )
            assert any(reason in verdict.reason for reason in told)
        else:
            assert "opening or closing at that moment" in verdict.reason

    @pytest.mark.parametrize("timed", [True, False], ids=["timed", "untimed"])
    @pytest.mark.parametrize("names", [LOOKS, LOOKS[:2], LOOKS[1:], LOOKS[::2]], ids="+".join)
    def test_looks_together_make_no_ghost(self, place: Path, names: tuple[str, ...], *, timed: bool) -> None:
        ends = [(name, host) for name in names for host in ("ldap", "app1", "app2")]
        files = [path for name, host in ends for path in self.look(place, name, host, timed=timed)]
        diagnosis = self.healthy([*files, place / CHURN / "cn-monitor.ldif"])
        assert len(diagnosis.hosts) == 3, "the looks at one host are one host"
        assert isinstance(judged(diagnosis, "ghost-connections")[APP2], Clear)

    def test_what_was_excluded_is_counted_with_the_reason(self, place: Path) -> None:
        files = self.look(place, "2-client-first", "ldap", timed=True, only="ss-tan.txt")
        files += self.look(place, "2-client-first", "app1", timed=True, only="ss-tan.txt")
        missing = not_judged(self.healthy(files), "ghost-connections", APP1)
        assert "102 of 112 connections are absent at the client" in missing.reason
        assert "closed in the last minute (TIME-WAIT)" in missing.reason
        assert "5.1 s apart" in missing.reason
        assert "take a snapshot of the client, the server and the client again" in (missing.how or "")

    def test_without_times_the_reason_is_that_nothing_bounds_the_churn(self, place: Path) -> None:
        files = self.look(place, "2-client-first", "ldap", timed=False, only="ss-tan.txt")
        files += self.look(place, "2-client-first", "app1", timed=False, only="ss-tan.txt")
        missing = not_judged(self.healthy(files), "ghost-connections", APP1)
        assert "no evidence bounds how many" in missing.reason


def test_exhausted_descriptors_are_named_with_their_witnesses(place: Path) -> None:
    folder = place / EXHAUSTION
    files = [path for path in sorted(folder.glob("*")) if path.is_file()]
    diagnosis = diagnosed(*files)
    found = finding(diagnosis, "descriptor-headroom")
    assert (found.severity, found.confidence) == (Severity.CRITICAL, Confidence.CERTAIN)
    assert (found.observed["used"], found.observed["limit"]) == (128, 128)
    refused = truth(EXHAUSTION)["counts"]["EOFError()"]
    assert any(f"({refused} times)" in witness for witness in found.observed["witnesses"])
    assert found.remedies
    assert ghosts(diagnosis) == 0


def test_exhaustion_is_seen_without_the_log_and_without_the_limits(place: Path) -> None:
    folder = place / EXHAUSTION
    told = diagnosed(folder / "slapd.stderr.log", folder / "ss-tan.txt")
    counted = gather(
        [str(folder / name) for name in ("ss-tan.txt", "proc-limits.txt", "proc-fd-count.txt")], ldap_ports=[13390]
    )
    for diagnosis in (told, diagnose(counted, installed_checks())):
        assert finding(diagnosis, "descriptor-headroom").severity is Severity.CRITICAL


class TestUnreadClient:
    """The client's table is missing, and the firewall's is not: what was a ghost is dead at the firewall."""

    @pytest.mark.parametrize("kept", [(), ("header",), ("nothing",)], ids=["no folder", "a header", "an empty file"])
    def test_the_firewalls_table_is_enough(self, kept: tuple[str, ...], tmp_path: Path) -> None:
        for host in ("ldap", "fw", "app2"):
            copytree(EXAMPLE / host, tmp_path / host)
        if kept:
            (tmp_path / "app1").mkdir()
            head = (EXAMPLE / "app1" / "ss-tiepmnaO.txt").read_text().partition("\n")[0]
            (tmp_path / "app1" / "ss-tiepmnaO.txt").write_text(f"{head}\n" if kept == ("header",) else "")
        whole = finding(diagnosed(EXAMPLE), "ghost-connections")
        sysctl = tmp_path / "fw" / "sysctl-nf_conntrack.txt"
        selected = finding(diagnosed(tmp_path), "severed-connections").observed
        assert (selected["severed"], selected["unproven"]) == (41, 227)  # its kernel counted 0 beside 42 entries
        assert set(selected["severed_client_ports"]) < set(whole.observed["ghost_client_ports"])
        sysctl.with_name("sysctl.txt").write_text(sysctl.read_text().replace("_count = 0", "_count = 42"))
        sysctl.unlink()
        diagnosis = diagnosed(tmp_path)
        found = finding(diagnosis, "severed-connections")
        assert found.observed["severed_client_ports"] == whole.observed["ghost_client_ports"]
        assert (found.severity, found.confidence) == (Severity.HIGH, Confidence.LIKELY)
        assert found.remedies[0].title.startswith("prove: ")
        assert not any("ss -K" in remedy.text for remedy in found.remedies)
        assert "No connection was seen to be dropped" not in finding(diagnosis, "keepalive-too-slow").detail

    def test_a_firewall_that_lists_all_leaves_nothing_to_report(self, tmp_path: Path) -> None:
        for host in ("ldap", "fw", "app2"):
            copytree(EXAMPLE / host, tmp_path / host)
        entries = (
            f"tcp 6 20 ESTABLISHED src=10.77.2.2 dst=10.77.1.2 sport={port} dport=389 "
            f"src=10.77.1.2 dst=10.77.2.2 sport=389 dport={port} [ASSURED] mark=0 use=1\n"
            for port in finding(diagnosed(EXAMPLE), "ghost-connections").observed["ghost_client_ports"]
        )
        with (tmp_path / "fw" / "conntrack-L.txt").open("a") as table:
            table.writelines(entries)
        assert not findings(diagnosed(tmp_path), "severed-connections")

    @pytest.mark.parametrize(("table", "dead"), [("netstat-an", 0), ("ss-tan", 0), ("netstat-tano", 40)])
    def test_without_ages_only_unanswered_probes_count_and_nothing_is_clear(self, table: str, dead: int) -> None:
        server = INCIDENTS / GHOSTS / "ldap"
        names = (f"{table}.txt", "captured-at.txt", "cn-config-limits.ldif", "cn-monitor.ldif")
        diagnosis = diagnosed(INCIDENTS / GHOSTS / "fw", *(server / name for name in names))
        found = findings(diagnosis, "severed-connections")
        assert sum(one.observed["severed"] for one in found.values()) == dead
        if dead:
            assert "Not counted: 228 connections" in found[APP1].detail
        else:
            assert (
                "268 (no table shows when they were last used"
                in not_judged(diagnosis, "severed-connections", APP1).reason
            )
            keepalive = finding(diagnosis, "keepalive-too-slow").detail
            assert "not known, because clients were not read" in keepalive
            assert "No connection was seen to be dropped" not in keepalive

"""The closed loop: load, ask for advice, do what it prints, load again; then take each index away, and put it back.

The servers are real and have 20,000 entries. What is lacking is known from who made the gaps and the load
(lab/phone_book.py); what it costs, from what the servers write of each search.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import pytest

from command import ldapdiag
from lab.directory_servers import DSE, SLAPD_FILE, SUFFIX
from lab.host import Host, wait_for
from lab.phone_book import (
    ENDED,
    ENDED_AT_389,
    EVERYTHING,
    PLANNED,
    RULED_AT_389,
    SLAPD_INDEXES,
    SLAPD_SCHEMA,
    Logged,
    ask,
    entries,
    load_389,
)
from lab.terminal import paste
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.schema.standard import standard
from ldapdiag.remedy import Needs
from ldapdiag.servers.commands.server_address import ServerAddress
from ldapdiag.servers.index_remedies import drop_indexes
from ldapdiag.servers.indexes.candidates import Change, IndexPlace
from reading import facts_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from command import Ran
    from lab.directory_servers import Server
    from lab.phone_book import Answered, Question

AT_LEAST = 10
"""Times that a search which returns few entries becomes quicker."""
FEW = 10
"""Entries: fewer of them are few."""
AGAIN = 5
"""So often each question is asked of a server without the plan."""
OFTEN = {True: 6, False: 25}
"""So often 389-ds and slapd after one index was taken away: scans that take 20 ms there, and 5 ms here, then take the
0.1 s in all from which on a plan has an index (worth.py)."""
EDIT = re.compile(r"^# (remove|add): +(index .*)$", re.MULTILINE)
"""What is to be done by hand in slapd.conf."""
REMEDIES = "/run/remedies"
MODIFY = {
    True: f'ldapmodify -x -H ldap://ldap -D "cn=Directory Manager" -W -f {REMEDIES}',
    False: f"ldapmodify -Q -Y EXTERNAL -H ldapi:/// -f {REMEDIES}",
}
"""How LDIF is given to 389-ds, and to slapd."""
ADDRESS = {True: "export LDAP_URI=ldap://ldap", False: "export LDAP_URI=ldapi:///"}
"""What an operator sets, because the evidence does not contain it."""
TASKS, BUILDS = "cn=tasks,cn=config", "cn=index,cn=tasks,cn=config"
"""Where 389-ds has what it is told to do, and some minutes longer."""
OWN = (
    "nsstate:", "createtimestamp:", "creatorsname:", "modifytimestamp:", "modifiersname:", "entrycsn:",
    "numsubordinates:",
)  # fmt: skip
"""What servers write of a change beside the change."""


@dataclass(frozen=True, slots=True)
class Advice:
    """What one run of `ldapdiag indexes` said."""

    ran: Ran
    report: dict

    @property
    def plan(self) -> dict[str, set[str]]:
        """Return the types to add, by attribute."""
        (server,) = self.report["indexes"]
        return {row["attribute"].lower(): set(row["types"]) for row in server["plan"]}

    def found(self, check: str) -> list[dict]:
        """Return what a check found."""
        return [one for one in self.report["findings"] if one["check"] == check]

    @property
    def printed(self) -> list[str]:
        """Return the commands of the text, which stand at the left edge below what they risk."""
        _, _, rest = self.ran.text.partition("\n            risk: ")
        blocks, pasted = [], False
        for line in rest.splitlines()[1:]:
            indented = line.startswith(" ")
            if indented or not pasted:
                pasted = not indented and bool(line)
                blocks += [[line]] if pasted else []
            else:
                blocks[-1].append(line)
        return ["\n".join(block).strip() for block in blocks]


@dataclass(slots=True)
class Site:
    """A server with the phone book, and the folder in which its log and its configuration lie for ldapdiag."""

    server: Server
    folder: Path
    questions: dict[str, Question]
    at_389: bool
    configured: list[str]
    """The command that shows the configuration."""
    log: Logged = field(init=False)
    seed: int = 0

    def ask(self, *, times: int = 0, ended: bool = False) -> dict[str, list[Answered]]:
        """Ask everything, or what scans without the plan, while the log is a new one."""
        self.log, self.seed = Logged(self.server), self.seed + 1
        asked = {name: one for name, one in self.questions.items() if not ended or name in ENDED | ENDED_AT_389}
        return ask(self.server, asked, self.seed, times)

    def advise(self, *options: str) -> Advice:
        """Run ldapdiag on the log of what was asked last, and on the configuration as it is now."""
        return Advice(self.run("-v", *options), self.run("--format", "json").report)

    def changes_since(self, report: dict, *, lacking: str = "") -> Ran:
        """Run ldapdiag with an earlier report as the baseline; fail on what is new or worse. A file may be lacking."""
        before = self.folder / "before.json"
        before.write_text(json.dumps(report))
        gate = ("--baseline", str(before), "--fail-on-new", "--fail-on", "low")
        return self.run("--format", "json", *gate, lacking=lacking)

    def run(self, *options: str, lacking: str = "") -> Ran:
        """Run ldapdiag indexes."""
        place = self.folder / "ldap"  # the name of the host: it stands in the commands
        place.mkdir(exist_ok=True)
        (place / "access.log").write_text(self.log.since())
        (place / "configuration.ldif").write_text(self.configuration())
        if lacking:
            (place / lacking).unlink()
        return ldapdiag("indexes", place, *options)

    def configuration(self) -> str:
        """Return the server's configuration as it lies on its disk."""
        return self.server.host.run(self.configured)

    def settings(self) -> dict[str, set[str]]:
        """Return the lines of the configuration's entries, by DN."""
        unfolded = self.configuration().replace("\n ", "").lower()
        told = (entry.splitlines() for entry in unfolded.split("\n\n") if entry.strip())
        return {dn: {line for line in lines if not line.startswith(OWN)} for dn, *lines in told if TASKS not in dn}

    def people(self) -> str:
        """Return all entries that there are, with everything in them."""
        return self.server.search(SUFFIX, "*", "+")

    def apply(self, commands: list[str]) -> None:
        """Paste what changes the indexes, then what shows how far the build is until it has ended."""
        change, progress, *_ = commands
        self.paste(change)
        wait_for(lambda: self._is_built(progress), "the build does not end", seconds=60)

    def apply_default(self, full: Advice) -> None:
        """Paste what is printed without -v, and nothing else: it waits for the build by itself."""
        lines, *_ = Advice(self.run(), {}).printed
        if self.configured[-1] == SLAPD_FILE:
            # no few lines are safe
            assert lines.splitlines()[0] == f"ldapdiag indexes {self.folder / 'ldap'} --script > plan.sh"
            self.apply(full.printed)
            return
        assert len(lines.splitlines()) < len(full.printed[0].splitlines()) / 2
        assert "ask_password" not in lines
        shown = self.paste(lines)
        if self.at_389:
            assert "nsTaskExitCode: 0" in shown
        else:
            assert not self.server.is_building()

    def paste(self, commands: str) -> str:
        """Paste commands, and do before what their comments say of slapd.conf."""
        host = self.server.host
        if edits := EDIT.findall(commands):
            text = host.run(["cat", SLAPD_FILE])
            for gone in (line for how, line in edits if how == "remove"):
                assert f"\n{gone}\n" in text, gone
                text = text.replace(f"\n{gone}\n", "\n")
            come = "".join(f"{line}\n" for how, line in edits if how == "add")
            host.run(["tee", SLAPD_FILE], stdin=text.replace(f"\nsuffix {SUFFIX}\n", f"\nsuffix {SUFFIX}\n{come}"))
        return paste(host, f"{ADDRESS[self.at_389]}\n{commands}")

    def _is_built(self, progress: str) -> bool:
        """Tell whether all builds have ended well."""
        shown = paste(self.server.host, f"{ADDRESS[self.at_389]}\n{progress}").replace("\n ", "")
        if not self.at_389:
            return not self.server.is_building()
        return 0 < shown.count(f",{BUILDS}") == shown.count("nsTaskExitCode: 0")

    def drop(self, attribute: str, type_: str) -> None:
        """Take an index away as the report says of those that nobody uses."""
        (told,) = [one for one in facts_of(self.configuration()) if isinstance(one, IndexConfiguration)]
        (backend,) = [one for one in told.backends if SUFFIX in one.suffixes]
        (remedy,) = drop_indexes(
            IndexPlace(ServerAddress(name="ldap", host="ldap"), backend, told, standard()), [Change(attribute, type_)]
        )
        self.paste(remedy.text)
        if remedy.needs is Needs.RESTART and self.at_389:
            self.server.restart()


def slapd_site(laboratory, host: Host, folder: Path, *, by_file: bool = False) -> Site:
    """Return a slapd with its configuration in cn=config, or in slapd.conf."""
    server = laboratory.slapd(
        host, configuration=SLAPD_SCHEMA, database=SLAPD_INDEXES, entries="\n".join(entries()), by_file=by_file
    )
    configured = ["cat", SLAPD_FILE] if by_file else ["slapcat", "-n0", "-F", "/etc/ldap/slapd.d"]
    return Site(server, folder, EVERYTHING, at_389=False, configured=configured)


def ds389_site(laboratory, host: Host, folder: Path) -> Site:
    """Return a 389 Directory Server."""
    server = load_389(laboratory.ds389(host))
    return Site(server, folder, EVERYTHING | ENDED_AT_389, at_389=True, configured=["cat", DSE])


SITES = {"389-ds": ds389_site, "openldap": slapd_site, "slapd.conf": partial(slapd_site, by_file=True)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """What was asked and answered, before and after the advice was followed."""

    site: Site
    settings: tuple[dict[str, set[str]], dict[str, set[str]]]
    people: tuple[str, str]
    answered: tuple[dict[str, list[Answered]], dict[str, list[Answered]]]
    advice: tuple[Advice, Advice]

    def quicker(self) -> dict[str, float]:
        """Return how many times quicker searches are that return few entries, and would scan but for the plan."""
        before, after = self.answered
        few = [name for name in self.ended if all(one.entries < FEW for one in (*before[name], *after[name]))]
        return {name: fastest(before[name]) / fastest(after[name]) for name in few}

    @property
    def ended(self) -> list[str]:
        """Return the names of the questions that scan for want of an index."""
        return [name for name in self.site.questions if name in ENDED | ENDED_AT_389]


def fastest(answered: list[Answered]) -> float:
    """Return the seconds of the fastest search: a scan is never fast, and a busy machine makes only slower."""
    return min(one.etime for one in answered)


@pytest.fixture(scope="module", params=SITES)
def loop(request, laboratory, tmp_path_factory) -> Iterator[Loop]:
    """Go round once."""
    with Host("ldap") as host:
        host.run("echo 127.0.0.1 ldap >> /etc/hosts")
        site = SITES[request.param](laboratory, host, tmp_path_factory.mktemp(request.param))
        people, settings = site.people(), site.settings()
        before = site.ask()
        first = site.advise("--fail-on", "low")
        site.apply_default(first)
        after = site.ask()
        second = site.advise()
        yield Loop(
            site=site,
            settings=(settings, site.settings()),
            people=(people, site.people()),
            answered=(before, after),
            advice=(first, second),
        )


def test_the_plan_is_what_the_load_lacks(loop) -> None:
    first, _ = loop.advice
    assert first.plan == PLANNED | (RULED_AT_389 if loop.site.at_389 else {})
    assert first.ran.code == 1


def test_what_scanned_was_noted_and_is_no_more(loop) -> None:
    """At 389-ds: slapd notes nothing."""
    before, after = ({name: {one.notes for one in told[name]} for name in loop.ended} for told in loop.answered)
    assert all(notes == {"A" if loop.site.at_389 else ""} for notes in before.values()), before
    assert all(notes == {""} for notes in after.values()), after


def test_what_scanned_and_returns_few_entries_is_at_least_ten_times_quicker(loop) -> None:
    quicker = loop.quicker()
    before, after = loop.answered
    for name, times in quicker.items():
        print(f"{name:20} {fastest(before[name]) * 1e3:8.2f} ms {fastest(after[name]) * 1e3:8.3f} ms  {times:6.0f}x")  # noqa: T201  the figures, with -s
    assert quicker.keys() == set(loop.ended)
    assert min(quicker.values()) >= AT_LEAST


def test_the_same_entries_are_found(loop) -> None:
    """Each person once: a half-built index would find fewer."""
    _, after = loop.answered
    assert {one.entries for name in ENDED for one in after[name]} == {1}
    assert not {one.err for name in loop.ended for one in after[name]} - {0}


def test_the_second_audit_is_clear(loop) -> None:
    _, second = loop.advice
    assert second.plan == {}
    assert second.ran.code == 0
    assert "PLAN        no index to add" in second.ran.text
    assert not second.found("missing-index")


def test_since_the_first_report_each_planned_index_is_gone_and_without_it_new(loop) -> None:
    """And not seen where no log or no configuration shows whether it is lacking."""
    site, (first, _) = loop.site, loop.advice
    planned = {one["id"] for one in first.found("missing-index")}
    then = site.changes_since(first.report)
    assert then.code == bool(counted(then))  # what was quicker than the scans now takes a larger share of the time
    assert not {one["check"] for one in counted(then)} & {"missing-index", "index-not-built"}
    assert planned == former(then, "missing-index", "gone")
    assert not former(then, "missing-index", "not_seen")

    for lacking in ("access.log", "configuration.ldif"):
        unread = site.changes_since(first.report, lacking=lacking)
        assert not former(unread, "missing-index", "gone"), lacking

    site.drop("displayname", "eq")
    site.ask(times=OFTEN[site.at_389], ended=True)
    undone = site.changes_since(then.report)
    new = [one for one in undone.report["findings"] if one["check"] == "missing-index"]
    assert [(one["change"], one["id"] in planned) for one in new] == [("new", True)]
    assert undone.code == 1
    site.apply(site.advise().printed)


def counted(ran: Ran) -> list[dict]:
    """Return the findings that --fail-on-new --fail-on low counts."""
    grown = (one for one in ran.report["findings"] if one["change"] in {"new", "worse"})
    return [one for one in grown if one["severity"] != "info"]


def former(ran: Ran, check: str, what: str) -> set[str]:
    """Return the ids of what the baseline has of a check and this report has not: `gone` or `not_seen`."""
    return {one["id"] for one in ran.report["baseline"][what] if one["check"] == check}


def test_nothing_else_has_changed(loop) -> None:
    before, after = loop.settings
    changed = {dn for dn in before.keys() | after.keys() if before.get(dn) != after.get(dn)}
    if loop.site.at_389:
        assert changed == {
            f"dn: cn={one},cn=index,cn=userroot,cn=ldbm database,cn=plugins,cn=config" for one in PLANNED | RULED_AT_389
        }
    else:
        (database,) = changed
        words = {line.replace(":", " ").split()[0] for line in before[database] ^ after[database]}
        assert words == {"index" if loop.site.configured[-1] == SLAPD_FILE else "olcdbindex"}
    assert loop.people[0] == loop.people[1]


def test_without_any_one_index_of_the_plan_something_scans_again(loop) -> None:
    """And is told so; what is then printed puts the index back.

    With slapd.conf it is the same server: one index shows that the file is changed, and changed back.
    """
    site, (_, quick) = loop.site, loop.answered
    by_file = site.configured[-1] == SLAPD_FILE
    every = sorted((name, one) for name, types in PLANNED.items() for one in types)
    for attribute, type_ in every[: 1 if by_file else None]:
        site.drop(attribute, type_)
        told = site.ask(times=OFTEN[site.at_389], ended=True)
        slower = [name for name, answers in told.items() if fastest(answers) >= AT_LEAST * fastest(quick[name])]
        noted = [name for name, answers in told.items() if {one.notes for one in answers} == {"A"}]
        print(f"without {attribute} {type_}: {', '.join(slower)}")  # noqa: T201  the figures, with -s
        assert noted if site.at_389 else slower
        assert set(noted) <= set(slower)
        advice = site.advise()
        assert advice.plan == {attribute: {type_}}
        site.apply(advice.printed)
    told = site.ask(times=OFTEN[site.at_389], ended=True)
    assert not [name for name, answers in told.items() if fastest(answers) >= AT_LEAST * fastest(quick[name])]
    assert site.settings() == loop.settings[1]


@pytest.fixture(scope="module", params=["389-ds", "openldap"])
def copy(request, laboratory, tmp_path_factory) -> Iterator[tuple[Site, Logged, dict[str, list[Answered]]]]:
    """Return a fresh server with the phone book, its log of searches without the plan, and how long these took."""
    with Host("ldap") as host:
        host.run("echo 127.0.0.1 ldap >> /etc/hosts")
        site = SITES[request.param](laboratory, host, tmp_path_factory.mktemp(f"{request.param}-copy"))
        before = site.ask(times=AGAIN, ended=True)
        yield site, site.log, before


@pytest.mark.parametrize("form", ["--ldif", "--script"])
def test_the_remedies_alone_do_the_same_and_can_be_taken_back(copy, form) -> None:
    site, log, before = copy
    site.log, settings = log, site.settings()
    advice = site.advise()
    site.server.host.run(["tee", REMEDIES], stdin=site.run(form).text)
    _, progress, *_ = advice.printed
    done = [f"sh {REMEDIES}"] if form == "--script" else [MODIFY[site.at_389]]
    site.apply(["\n".join(done), progress])
    after = site.ask(times=AGAIN, ended=True)
    assert min(fastest(before[name]) / fastest(after[name]) for name in before) >= AT_LEAST
    assert site.advise().plan == {}
    for one in advice.found("missing-index"):
        site.paste(one["remedies"][0]["undo"])
    assert site.settings() == settings
    site.server.restart()
    after = site.ask(times=AGAIN, ended=True)
    assert max(fastest(before[name]) / fastest(after[name]) for name in before) < AT_LEAST

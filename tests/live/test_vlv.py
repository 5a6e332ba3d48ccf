"""Virtual list views of 389-ds before and after the printed commands: the server's notes, and its counters of uses."""

from __future__ import annotations

import re

import pytest

from command import ldapdiag
from lab.directory_servers import DSE, SUFFIX
from lab.host import Host, wait_for
from lab.laboratory import need
from lab.odd_directory import ACCESS, PERSON, load
from lab.terminal import paste
from ldapdiag.evidence.indexes import IndexConfiguration, ds389
from reading import facts_of

ENTRIES = 2700
"""Fewer people than the size limit of 2,000, which a view without an index reaches."""
PEOPLE = f"ou=people,{SUFFIX}"
TIMES = 12
BACKEND = "cn=userRoot,cn=ldbm database,cn=plugins,cn=config"
WITHOUT_ACCESS = f"""dn: cn=bare,{BACKEND}
changetype: add
objectClass: vlvSearch
cn: bare
vlvBase: {PEOPLE}
vlvScope: 1
vlvFilter: (objectClass=person)

dn: cn=bare by sn,cn=bare,{BACKEND}
changetype: add
objectClass: vlvIndex
cn: bare by sn
vlvSort: -sn uid

dn: cn=bare,cn=index,cn=tasks,cn=config
changetype: add
objectClass: extensibleObject
cn: bare
nsInstance: userRoot
ttl: 86400
nsIndexVLVAttribute: bare by sn
"""


@pytest.fixture(scope="module")
def server(laboratory):
    need("ns-slapd", "ldapsearch", "ldapmodify")
    with Host("ldap") as host:
        running = laboratory.ds389(host)
        load(running, ENTRIES)
        yield running


class Views:
    """Views of one search and order by one account, and what the server wrote of them."""

    def __init__(self, server, scope="sub", keys="cn", account=PERSON):
        self.server = server
        bind = f"-D '{account}' -w password" if account else ""
        order = "/".join(keys.split())
        self.command = (
            f"echo end | ldapsearch -x -H ldap://127.0.0.1 {bind} -LLL -b '{PEOPLE}' -s {scope} -E 'sss={order}' "
            "-E vlv=0/9/1/0 '(objectClass=person)' 1.1 2>&1 || :"
        )
        self.log = ""

    def ask(self, times=TIMES):
        """Ask for the first page, and return what the client saw of the last one."""
        before = int(self.server.host.run(["stat", "-c", "%s", ACCESS]))
        seen = [self.server.host.run(self.command) for _ in range(times)][-1]
        read = f"tail -c +{before + 1} {ACCESS}"
        wait_for(lambda: self.server.host.run(read).count("RESULT") >= times, "the log lacks results")
        self.log = self.server.host.run(f"head -3 {ACCESS}") + self.server.host.run(read)
        return seen

    @property
    def results(self):
        """Return the SORT line, the result code and the note of each search."""
        found = []
        for operation in re.findall(r" (conn=\d+ op=\d+) SRCH .*objectClass=person", self.log):
            own = [line.partition(f" {operation} ")[2] for line in self.log.splitlines() if f" {operation} " in line]
            (result,) = [line for line in own if line.startswith("RESULT ")]
            note = re.search(r" notes=(\S+)", result)
            sort = next((line.removeprefix("SORT ") for line in own if line.startswith("SORT ")), "")
            found.append((sort, int(re.search(r"err=(\d+)", result)[1]), note[1] if note else ""))
        return found


def advised(server, folder, log):
    """Return the report of an audit of a log and the configuration as it is on the disk."""
    place = folder / "ldap"
    place.mkdir(exist_ok=True)
    (place / "access.log").write_text(log)
    (place / "dse.ldif").write_text(server.host.run(["cat", DSE]))
    return ldapdiag("indexes", place, "--format", "json").report


def found(report):
    return [one for one in report["findings"] if one["check"] == "missing-vlv-index"]


def commands(remedy, server):
    del server
    return f"LDAP_URI=ldap://127.0.0.1\n{remedy}"


@pytest.mark.parametrize(("scope", "keys"), [("sub", "cn"), ("one", "-sn cn")])
def test_the_printed_index_answers_the_views_of_a_normal_account(server, tmp_path, scope, keys):
    views, anonymous = Views(server, scope, keys), Views(server, scope, keys, account="")
    total = int(re.search(r"count=(\d+)", views.ask())[1])
    assert {(sort.split(" (")[0], err, note) for sort, err, note in views.results} == {(keys, 0, "U")}
    assert "Insufficient access (50)" in anonymous.ask(1)
    report = advised(server, tmp_path, views.log)
    (finding,) = found(report)
    observed = finding["observed"]
    assert (observed["filter"], observed["base"], observed["scope"], observed["sort"], observed["sorted_entries"]) == (
        "(objectClass=person)", PEOPLE, scope, keys, total,
    )  # fmt: skip
    (audit,) = report["indexes"]
    assert not any(audit[key] for key in ("plan", "no_index_helps", "not_worth_an_index", "harmless"))
    (remedy,) = finding["remedies"]
    shown = paste(server.host, commands(remedy["text"], server))
    assert f"right: the index has all {total} entries" in shown
    assert f"count={total} " in views.ask()
    assert set(views.results) == {(f"{keys} ", 0, "")}
    assert "Insufficient access (50)" in anonymous.ask(1)
    assert int(re.search(r"vlvUses: (\d+)", paste(server.host, commands(remedy["verify"], server)))[1]) >= TIMES
    assert found(advised(server, tmp_path, views.log)) == []
    paste(server.host, commands(remedy["undo"], server))
    assert f"count={total} " in views.ask(1)
    assert views.results[0][2] == "U"


def test_accounts_that_an_index_locked_out_are_let_in(server, tmp_path):
    views = Views(server, "one", "-sn uid")
    assert "vlvResult" in views.ask(1)
    server.modify(WITHOUT_ACCESS)
    wait_for(lambda: "nsTaskExitCode: 0" in server.search("cn=bare,cn=index,cn=tasks,cn=config", "-s", "base"), "built")
    assert "Insufficient access (50)" in views.ask(3)
    (finding,) = found(advised(server, tmp_path, views.log))
    assert finding["observed"]["state"] == "refused"
    paste(server.host, commands(finding["remedies"][0]["text"], server))
    assert "vlvResult" in views.ask(1)
    assert views.results == [("-sn uid ", 0, "")]


def test_a_live_server_shows_what_dse_ldif_does_and_the_uses(server):
    asked = server.search(ds389.DATABASES, ds389.FILTER, *ds389.ATTRIBUTES)
    (live,) = [one for one in facts_of(asked, path="live.ldif") if isinstance(one, IndexConfiguration)]
    (saved,) = [one for one in facts_of(server.host.run(["cat", DSE])) if isinstance(one, IndexConfiguration)]
    (of_live,) = [one for backend in live.backends for one in backend.vlv_searches if one.name == "bare"]
    (of_file,) = [one for backend in saved.backends for one in backend.vlv_searches if one.name == "bare"]
    assert (of_live.base, of_live.scope, of_live.filter, of_live.acis) == (
        of_file.base, of_file.scope, of_file.filter, of_file.acis,
    )  # fmt: skip
    (index,) = of_live.indexes
    assert (index.sort, index.enabled) == ("-sn uid", True)
    assert index.uses > 0
    assert [(one.sort, one.enabled, one.uses) for one in of_file.indexes] == [("-sn uid", None, None)]

"""The addresses at the top of a script: one variable for one server, one for each of several."""

from __future__ import annotations

import subprocess

import pytest

from facts import address_of
from ldapdiag.remedy import Remedy, RemedyKind, Where
from ldapdiag.report.indexes.remedies import address_variables
from ldapdiag.servers.commands.server_address import HOST, URI


def remedy(target: str, *names: str, mark: str = "") -> Remedy:
    server = address_of(target, is_named=False, mark=mark)
    words = " ".join(map(server.variable, names))
    return server.adapt(
        Remedy(
            title="Index cn", target=target, where=Where.SERVER, kind=RemedyKind.SHELL,
            text=f"echo {target.split(maxsplit=1)[0]} {words}", changes="", risk="", undo="", verify="",
        )
    )  # fmt: skip


def ran(remedies: list[Remedy], **environment: str) -> subprocess.CompletedProcess[str]:
    script = "\n".join(["set -e", address_variables(remedies), *(one.text for one in remedies), ""])
    return subprocess.run(
        ["/bin/sh"], input=script, env=environment, capture_output=True, text=True, check=False, timeout=30
    )


def test_known_addresses_need_no_variable() -> None:
    assert address_variables([remedy("ds1")]) == ""


def test_of_one_server_they_have_their_plain_names() -> None:
    remedies = [remedy("ds1", URI), remedy("ds1", URI, HOST)]
    assert ran(remedies, LDAP_URI="ldap://a", LDAP_HOST="a").stdout == "ds1 ldap://a\nds1 ldap://a a\n"
    stopped = ran(remedies, LDAP_URI="ldap://a")
    assert (stopped.returncode, stopped.stdout) == (2, "")
    assert "set LDAP_HOST at the top of this script: the host of ds1: the evidence says ds1" in stopped.stderr


@pytest.mark.parametrize("missing", ["LDAP_URI_ds1", "LDAP_URI_ds2", ""])
def test_each_of_several_servers_has_its_own(missing: str) -> None:
    ds1, ds2 = remedy("ds1", URI, mark="ds1"), remedy("ds2", URI, mark="ds2")
    remedies = [ds1, remedy("known"), ds2, ds1]
    given = {"LDAP_URI_ds1": "ldap://one", "LDAP_URI_ds2": "ldap://two", "LDAP_URI": "ldap://wrong"}
    done = ran(remedies, **{name: url for name, url in given.items() if name != missing})
    if missing:
        assert (done.returncode, done.stdout) == (2, ""), "nothing is done before all are known"
        assert f"set {missing} at the top" in done.stderr
    else:
        assert done.stdout.split() == ["ds1", "ldap://one", "known", "ds2", "ldap://two", "ds1", "ldap://one"]


@pytest.mark.parametrize("name", ["a'; touch pasted; '", "a $(touch pasted)", "a\ntouch pasted", "a`touch pasted`"])
def test_a_name_is_only_text(name: str, tmp_path) -> None:
    head = address_variables([remedy(name, URI)])
    subprocess.run(["/bin/sh"], input=head, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=30)
    assert not list(tmp_path.iterdir())

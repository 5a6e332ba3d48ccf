"""Which rule of `limits` a real slapd applies to an account, and which one ldapdiag says it does.

Each rule allows another number of entries, so the number that a client receives is the rule's. Rules are drawn, and
written while slapd runs; the configuration that ldapdiag reads is what slapcat prints then.
"""

from __future__ import annotations

import json
import random
import re
import socket
from functools import partial
from typing import TYPE_CHECKING

import pytest

from command import ldapdiag
from lab.controlled_search import Control, ask
from lab.directory_servers import APPLICATIONS, PASSWORD, SUFFIX, account
from lab.host import Host
from lab.raw_ldap import Connection
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.servers.openldap import account_limits
from reading import facts_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lab.directory_servers import Server
    from ldapdiag.servers.indexes.applied_limits import AppliedLimits

PEOPLE, DEFAULT, FIRST = f"ou=people,{SUFFIX}", 50, 5
BASES = (SUFFIX, PEOPLE)
XYZ, FOO, SHIZZLE = map(account, APPLICATIONS)
ADMIN = f"cn=admin,{SUFFIX}"
ACCOUNTS = ("anonymous", XYZ, FOO, SHIZZLE, ADMIN)
GROUP = f"cn=admins,{SUFFIX}"
COMPARED = (
    "*",
    "anonymous",
    "users",
    "dn.anonymous",
    XYZ,
    f'dn.exact="{FOO}"',
    f'"dn.base={SHIZZLE.upper()}"',
    f'dn.self.exact="UID = application_xyz , ou=services,{SUFFIX}"',
    f'dn.one="ou=services,{SUFFIX}"',
    f'dn.onelevel="{SUFFIX}"',
    f'dn.subtree="{FOO}"',
    f'dn.children="{SHIZZLE}"',
    f'dn.children="{SUFFIX}"',
    f'dn.this.exact="{PEOPLE}"',
    f'dn.this.subtree="{SUFFIX}"',
    f'dn.this.children="{SUFFIX}"',
    'dn.regex=".*"',
    'dn.exact="*"',
    'dn.regex="^uid=[^,]+,ou=services,"',
    'dn.regex="FOO"',
    'dn.this.regex="^ou=people,dc=example,dc=com$"',
)
NOT_COMPARED = (
    f'group/groupOfNames/member="{GROUP}"',
    f'dn.exact="userid=application_xyz,ou=services,{SUFFIX}"',
    'dn.regex="^uid=application_(foo|xyz),"',
    f'dn.exact="0.9.2342.19200300.100.1.1=application_foo,ou=services,{SUFFIX}"',
)


def entries():
    yield f"dn: {PEOPLE}\nobjectClass: organizationalUnit\nou: people\n"
    yield f"dn: {GROUP}\nobjectClass: groupOfNames\ncn: admins\nmember: {SHIZZLE}\n"
    yield from (f"dn: uid=p{number},{PEOPLE}\nobjectClass: account\nuid: p{number}\n" for number in range(70))


@pytest.fixture(scope="module")
def server(laboratory):
    with Host("ldap") as host:
        yield laboratory.slapd(
            host, database=f"sizelimit {DEFAULT}\nindex objectClass eq\n", entries="\n".join(entries())
        )


def write(server: Server, selectors: list[str]) -> None:
    """Give slapd these rules."""
    lines = [f"olcLimits: {{{n}}}{one} size={FIRST + n} size.unchecked={1000 + n}" for n, one in enumerate(selectors)]
    ldif = "\n".join(["dn: olcDatabase={1}mdb,cn=config", "changetype: modify", "replace: olcLimits", *lines, ""])
    server.host.run(["ldapmodify", "-H", "ldapi:///", "-Y", "EXTERNAL"], stdin=ldif)


def received(server: Server, name: str, base: str, text: str = "(objectClass=account)") -> int:
    """Return how many entries a client receives."""

    def sent() -> int:
        connection = Connection(socket.create_connection(("127.0.0.1", 389)))
        if name != "anonymous":
            assert connection.bind(name, PASSWORD) == 0
        answer = ask(connection, base, "sub", text, Control())
        connection.unbind()
        return len(answer.names)

    return server.host.inside(sent)


def configured(server: Server) -> IndexConfiguration:
    text = server.host.run(["slapcat", "-n0", "-F", "/etc/ldap/slapd.d"])
    (read,) = [one for one in facts_of(text) if isinstance(one, IndexConfiguration)]
    return read


def limits_at(server: Server) -> Callable[[str, str], AppliedLimits | None]:
    """Return what ldapdiag finds of an account and a base."""
    configuration = configured(server)
    (database,) = [one for one in configuration.backends if SUFFIX in one.suffixes]
    return partial(account_limits.applied_limits, configuration, database)


def drawn(generator: random.Random, pool: tuple[str, ...], number: int) -> list[str]:
    """Draw selectors; slapd takes `*`, anonymous and users once each."""
    everyone = {"*", 'dn.regex=".*"', 'dn.exact="*"'}
    nobody = {"anonymous", "dn.anonymous"}
    chosen: list[str] = []
    for one in generator.sample(pool, len(pool)):
        once = next((names for names in (everyone, nobody) if one in names), set())
        if not once.intersection(chosen) and len(chosen) < number:
            chosen.append(one)
    return chosen


@pytest.mark.parametrize("seed", range(8))
def test_the_rule_is_the_one_that_slapd_applies(server: Server, seed: int) -> None:
    generator = random.Random(seed)  # noqa: S311  drawn rules, not secrets
    pool = COMPARED + NOT_COMPARED * (seed % 2)
    write(server, drawn(generator, pool, 7))
    limits = limits_at(server)
    judged = 0
    for name in ACCOUNTS:
        for base in BASES:
            applied = limits(name, base)
            assert applied is not None
            number = received(server, name, base)
            if not applied.known:
                continue
            judged += 1
            if number == 70:
                assert name == ADMIN, "only the rootdn has no limit"
                assert "rootdn" in applied.rule
            elif number == DEFAULT:
                assert "no rule" in applied.rule, (applied, name, base)
            else:
                found = re.match(r"rule \{(\d+)\}", applied.rule)
                assert found, (applied, name, base, number)
                assert int(found[1]) == number - FIRST, (applied, name, base, number)
                assert applied.candidates == 1000 + number - FIRST
    assert judged >= 2, "the rootdn at least is always judged"


def test_what_a_file_cannot_show_is_not_judged(server: Server) -> None:
    for selector in NOT_COMPARED:
        write(server, [selector, "users"])
        limits = limits_at(server)
        unsure = [name for name in ACCOUNTS if not limits(name, SUFFIX).known]
        hit = [name for name in ACCOUNTS if received(server, name, SUFFIX) == FIRST]
        assert hit, "the rule applies to somebody"
        assert set(hit) <= set(unsure)


@pytest.mark.parametrize("own", [True, False])
def test_a_rule_that_names_no_limit_has_that_of_all_databases(server: Server, *, own: bool) -> None:
    """One of its own database depends on the order, so it is not judged."""
    database, everywhere = "{1}mdb", "{-1}frontend"
    sizes = {database: f"size={DEFAULT}", everywhere: f"size={DEFAULT}"}
    sizes[database if own else everywhere] += " size.unchecked=20"
    rules = f"{{0}}dn.exact={XYZ} size=60\nolcLimits: {{1}}dn.exact={FOO} size.unchecked=unlimited"
    rules = {database: f"-\nreplace: olcLimits\nolcLimits: {rules}\n"}
    for name, size in sizes.items():
        head = f"dn: olcDatabase={name},cn=config\nchangetype: modify\nreplace: olcSizeLimit\nolcSizeLimit: {size}\n"
        server.host.run(["ldapmodify", "-H", "ldapi:///", "-Y", "EXTERNAL"], stdin=head + rules.get(name, ""))
    server.restart()
    limits = limits_at(server)
    applied = {name: limits(name, SUFFIX) for name in (XYZ, FOO, SHIZZLE)}
    assert [one.known for one in applied.values()] == [not own, True, True]
    for name, one in applied.items():
        if one.known:
            assert (one.candidates == 20) is (received(server, name, SUFFIX) == 0), (name, one)


def audit(server: Server, folder: Path) -> dict[str, dict]:
    (folder / "slapd.log").write_text(server.log.read_text())
    (folder / "config.ldif").write_text(server.host.run(["slapcat", "-n0", "-F", "/etc/ldap/slapd.d"]))
    findings = json.loads(ldapdiag("indexes", folder, "--format", "json").out)["findings"]
    return {(one["check"], one["observed"].get("shape", one["observed"].get("attribute"))): one for one in findings}


def test_a_refusal_is_blamed_on_the_rule_that_refused(laboratory, tmp_path: Path) -> None:
    """And the rule that is advised leaves the account its other limits."""
    with Host("ldap") as host:
        server = laboratory.slapd(host, database="index objectClass eq\n", entries="\n".join(entries()))
        rules = [
            f"{{0}}dn.exact={FOO} size.unchecked=disabled",
            f"{{1}}dn.exact={XYZ} size=60 size.unchecked=20",
            '{2}dn.regex="^uid=application_xyz," size.unchecked=1000000',
        ]
        change = ["dn: olcDatabase={1}mdb,cn=config", "changetype: modify", "replace: olcLimits"]
        as_root = ["ldapmodify", "-H", "ldapi:///", "-Y", "EXTERNAL"]
        host.run(as_root, stdin="\n".join([*change, *(f"olcLimits: {one}" for one in rules), ""]))
        for _ in range(20):
            assert received(server, XYZ, SUFFIX) == 0
            assert received(server, FOO, SUFFIX, "(description=nobody)") == 0
        found = audit(server, tmp_path)
        assert ("missing-index", "description") not in found, "an index would not let it search"
        disabled = found["scan-limit-exceeded", "(description=?)"]
        limited = found["scan-limit-exceeded", "(objectClass=account)"]
        assert "allow it no search" in disabled["title"]
        assert "rule {0}" in disabled["detail"]
        assert (limited["confidence"], limited["observed"]["refused"]) == ("likely", 20), "rule {2} may be older"
        assert "A later rule matches, too" in limited["detail"]
        assert "rule {1} of the limits of {1}mdb" in limited["detail"]
        assert "its size.unchecked is 20" in limited["detail"]
        advised = re.search(r"\{0\}dn\.exact=.*?NUMBER", limited["remedies"][0]["text"].split("apply now: ")[1])
        own = advised[0].replace("NUMBER", "200")
        host.run(as_root, stdin="\n".join([*change[:2], "add: olcLimits", f"olcLimits: {own}", ""]))
        assert received(server, XYZ, SUFFIX) == 0, "until a start, slapd compares an added rule last"
        assert "rule that is added alone" in limited["remedies"][0]["text"]
        server.restart()
        assert received(server, XYZ, SUFFIX) == 60, "its size limit is still that of the former rule"
        host.run(as_root, stdin="\n".join([*change, *(f"olcLimits: {one}" for one in rules), ""]))
        assert received(server, XYZ, SUFFIX) == 0
        host.run(as_root, stdin="\n".join([*change, *(f"olcLimits: {one}" for one in (own, *rules)), ""]))
        assert received(server, XYZ, SUFFIX) == 60, "replaced together, they are compared in their order"

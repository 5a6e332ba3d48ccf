"""Rules of `limits` from a file; which one a real slapd applies is tried in tests/live/test_account_limits.py."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts import origin
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.indexes import Backend, IndexConfiguration
from ldapdiag.evidence.indexes.slapd_limits import AccountLimits, default_settings, limits_of, limits_rule
from ldapdiag.servers.openldap import account_limits
from reading import facts_of

ACCOUNT = "uid=portal,ou=services,dc=x"
DATABASE = "dn: olcDatabase={1}mdb,cn=config\nolcDatabase: {1}mdb\nolcDbDirectory: /srv/db\nolcSuffix: dc=x\n"
CONF = "pidfile /run/slapd.pid\nsizelimit size.unchecked=7\ndatabase mdb\nsuffix dc=x\ndirectory /srv\nindex cn eq\n"


def applied_limits(backend: Backend, account: str, base: str):
    identity = ServerIdentity(family=Family.OPENLDAP)
    configuration = IndexConfiguration(origin=origin(), identity=identity, backends=(backend,))
    return account_limits.applied_limits(configuration, backend, account, base)


def applied(*rules: str, account: str = ACCOUNT):
    limits = AccountLimits(rules=tuple(map(limits_rule, rules)))
    return applied_limits(
        Backend(name="{1}mdb", suffixes=("dc=x",), definitions=(), account_limits=limits), account, "dc=x"
    )


def read(text: str) -> Backend:
    (found,) = [one for one in facts_of(text) if isinstance(one, IndexConfiguration)]
    return found.backends[0]


@pytest.mark.parametrize(
    ("line", "settings"),
    [
        ("* size=5", {"size.soft": 5, "size.hard": 0}),
        ("* size.soft=5 size.hard=unlimited", {"size.soft": 5, "size.hard": -1}),
        ("* size.unchecked=disabled time=none", {"size.unchecked": 0, "time.soft": -1, "time.hard": 0}),
        ("* size.prtotal=disabled size.pr=noEstimate", {"size.prtotal": -2}),
    ],
)
def test_settings_are_read_as_slapd_reads_them(line, settings) -> None:
    assert limits_of(limits_rule(line).settings) == settings


def test_an_excerpt_without_limits_does_not_show_that_there_are_none() -> None:
    """What earlier collections requested."""
    assert (
        applied_limits(read(DATABASE + "olcDbIndex: cn eq\nstructuralObjectClass: olcMdbConfig\n"), ACCOUNT, "") is None
    )
    shown = applied_limits(read(DATABASE + "entryCSN: 2026#1\n"), ACCOUNT, "dc=x")
    assert shown is not None
    assert "no rule" in shown.rule


def test_of_slapd_conf_the_limits_of_all_databases_are_inherited() -> None:
    found = applied_limits(read(f"{CONF}limits users size=3\n"), ACCOUNT, "dc=x")
    assert found is not None
    assert (found.candidates, "rule {0}" in found.rule) == (7, True)
    included = read(f"{CONF}include /etc/ldap/limits.conf\nlimits users size=3\n")
    assert applied_limits(included, ACCOUNT, "dc=x") is None, "the file may have rules that come first"


def test_a_rule_before_the_one_that_matches_has_to_be_judged() -> None:
    assert applied("group=cn=g,dc=x size=1", "users size=2").known is False
    assert applied("dn.regex=(a|b) size=1", "users size=2").known is False
    assert applied("nonsense=1", "users size=2").known is False
    assert applied("?", "* size=2", account="anonymous").known is False
    assert applied("users size=2", "group=cn=g,dc=x size=1").known


def test_no_value_of_a_hostile_file_enters_a_rule_that_is_advised() -> None:
    found = applied('users "size=5;reboot" size.soft=9 $(reboot)=1 size.unchecked=3')
    assert found.own_rule == f'{{0}}dn.exact="{ACCOUNT}" size.soft=9 size.unchecked='
    assert applied("users size=5", account='uid=x"\nolcRootPW: x') is None


@given(st.text(alphabet='dn.=regx,"\\*+?()[]^$ au{}0\n', max_size=200))
def test_any_text_is_read_and_compared_in_no_time(text: str) -> None:
    began = time.monotonic()
    applied(f'dn.regex="{text}" size=1', f"{text} size=2", account="uid=" + "a" * 200 + ",dc=x")
    default_settings(text)
    assert time.monotonic() - began < 1


def test_only_a_place_at_the_beginning_is_one() -> None:
    assert (
        limits_rule('dn.regex="^uid=[0-9]{4},ou=services," size.unchecked=10').pattern == "^uid=[0-9]{4},ou=services,"
    )
    assert limits_rule("{3}users size=1").style == "users"


def test_no_selector_begins_a_line_of_a_report() -> None:
    rule = limits_rule('"group=\nNext: do this" size=1')
    assert (rule.selector, rule.style) == ("not printable", "?")


def test_an_empty_pattern_matches_no_account() -> None:
    """limits.c: a separator must precede the pattern."""
    for style in ("one", "subtree", "children"):
        found = applied(f'dn.{style}="" size=1')
        assert found is not None
        assert "no rule" in found.rule


def test_the_defaults_of_all_databases_add_up() -> None:
    text = (
        "dn: cn=config\nobjectClass: olcGlobal\nolcSizeLimit: size.soft=500 size.unchecked=1000\n\n"
        f"dn: olcDatabase={{-1}}frontend,cn=config\nolcDatabase: {{-1}}frontend\nolcSizeLimit: 600\n\n"
        f"{DATABASE}olcDbIndex: cn eq\nentryCSN: 2026#1\n"
    )
    found = applied_limits(read(text), ACCOUNT, "dc=x")
    assert found is not None
    assert found.candidates == 1000


def test_no_advice_for_an_account_whose_dn_slapd_would_read_otherwise() -> None:
    assert applied("users size=2", account=r"cn=Smith\, John,dc=x").own_rule == ""

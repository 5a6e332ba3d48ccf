"""A real 389 Directory Server and a real slapd, asked as an operator would ask them: 25 s, most of them dscreate's."""

from __future__ import annotations

import threading
from collections import Counter
from functools import partial

import pytest

from facts import address_of
from internal_searches import searched_by
from lab.directory_servers import DSE
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.monitor import Monitor
from ldapdiag.evidence.schema import Schema
from ldapdiag.servers.commands.ldap_tools import modify
from ldapdiag.servers.queries import SCHEMA
from ldapdiag.sources.collection_options import BindOptions, Mechanism, StartTls
from ldapdiag.sources.live.ldap.directory import query_directory
from ldapdiag.sources.targets import parse_target
from reading import facts_of

PASSWORD = "password"  # noqa: S105  of servers that live for one test run
MANAGER = "cn=Directory Manager"
SOMEBODY = "cn=somebody,dc=example,dc=com"
ADMIN = "cn=admin,dc=example,dc=com"


def asked(room, url, **binding):
    address, stop = parse_target(url).address, threading.Event()
    return room.inside(
        partial(query_directory, address, url, BindOptions(**binding), folder="here/ds1", timeout_seconds=10, stop=stop)
    )


def texts(answers):
    return {piece.path: piece.open().read() for piece in answers.pieces}


def facts(answers):
    return [fact for path, text in texts(answers).items() for fact in facts_of(text, path=path)]


def the(kind, answers):
    (fact,) = [fact for fact in facts(answers) if isinstance(fact, kind)]
    return fact


def of_file(kind, text):
    (fact,) = [fact for fact in facts_of(text) if isinstance(fact, kind)]
    return fact


def defined(definitions):
    return {one.attribute.lower(): one for one in definitions}


def local(path):
    return f"ldapi://{str(path).replace('/', '%2F')}"


INDEX = (
    "dn: cn=displayName,cn=index,cn=userRoot,cn=ldbm database,cn=plugins,cn=config",
    "changetype: add",
    "objectClass: nsIndex",
    "nsSystemIndex: false",
    "nsIndexType: eq",
    "nsIndexType: sub",
    "nsMatchingRule: nsSubStrBegin=2",
    "nsIndexIDListScanLimit: limit=0 type=eq flags=AND values=nobody",
)
UNIQUENESS = (
    "dn: cn=attribute uniqueness,cn=plugins,cn=config",
    "changetype: modify",
    "replace: nsslapd-pluginEnabled",
    "nsslapd-pluginEnabled: on",
)
CLASS_OF_SERVICE = (
    "dn: cn=codes,dc=example,dc=com",
    "changetype: add",
    "objectClass: cosSuperDefinition",
    "objectClass: cosPointerDefinition",
    "cosTemplateDn: cn=template,dc=example,dc=com",
    "cosAttribute: postalCode",
)
SERVER = address_of("localhost")


@pytest.fixture(scope="module")
def ds(ds389):
    entry = ["changetype: add", "objectClass: person", "sn: person", f"userPassword: {PASSWORD}"]
    ds389.paste(modify(SERVER, f"dn: {SOMEBODY}", *entry))
    return ds389


class TestOn389:
    def test_the_counts_are_exact_without_our_own_connection(self, ds):
        for name in (MANAGER, MANAGER, SOMEBODY, SOMEBODY, SOMEBODY, ""):
            ds.connect(name)
        answers = asked(ds, "ldap://127.0.0.1", dn=MANAGER, password=PASSWORD)
        assert answers.gaps == ()
        monitor = the(Monitor, answers)
        assert (answers.peer, monitor.identity.family) == ("127.0.0.1", Family.DS389)
        assert Counter(one.account.lower() for one in monitor.connections) == Counter(
            {MANAGER.lower(): 2, SOMEBODY: 3, "": 1}
        )
        assert monitor.current_connections == 6
        assert monitor.origin.not_understood == 0

    def test_the_configuration_is_as_whole_as_the_entry(self, ds):
        whole = ds.paste(
            f"ldapsearch -LLL -x -H ldap://localhost -D '{MANAGER}' -W -o ldif-wrap=no -b cn=config -s base"
        )
        read = facts_of(whole[whole.index("dn:") :], path="here/a.ldif")
        (expected,) = [one for one in read if isinstance(one, Configuration)]
        found = the(Configuration, asked(ds, "ldap://127.0.0.1", dn=MANAGER, password=PASSWORD))
        for name in Configuration.__dataclass_fields__:
            if name != "origin":
                assert getattr(found, name) == getattr(expected, name), name
        assert found.complete

    def test_no_password_is_in_any_answer(self, ds):
        shown = ds.paste(
            f"ldapsearch -LLL -x -H ldap://localhost -D '{MANAGER}' -W -o ldif-wrap=no -b cn=config -s base"
        )
        (secret,) = [line.split(": ", 1)[1] for line in shown.splitlines() if line.startswith("nsslapd-rootpw:")]
        answers = asked(ds, "ldap://127.0.0.1", dn=MANAGER, password=PASSWORD)
        assert len(answers.pieces) == 5
        for path, text in texts(answers).items():
            words = () if path.endswith(SCHEMA) else (b"rootpw", b"userpassword")  # the schema defines them
            assert not any(word in text.lower() for word in (*words, secret.lower().encode())), path
        assert PASSWORD not in repr(answers)

    def test_the_index_configuration_is_what_its_own_file_says(self, ds):
        for change in (INDEX, UNIQUENESS, CLASS_OF_SERVICE):
            ds.paste(modify(SERVER, *change))
        answers = asked(ds, "ldap://127.0.0.1", dn=MANAGER, password=PASSWORD)
        found, expected = the(IndexConfiguration, answers), of_file(IndexConfiguration, ds.run(f"cat {DSE}"))
        assert (found.identity, found.whole) == (expected.identity, True)
        assert found.identity.version
        for name in ("scan_limit", "lookthrough_limit", "range_lookthrough_limit", "internal_searches"):
            assert getattr(found, name) == getattr(expected, name) is not None, name
        assert defined(found.templates) == defined(expected.templates)
        ((one,), (other,)) = found.backends, expected.backends
        assert (one.name.lower(), one.suffixes, one.kind) == (other.name.lower(), ("dc=example,dc=com",), other.kind)
        assert (defined(one.definitions), one.entry.lower()) == (defined(other.definitions), other.entry.lower())
        assert found.origin.not_understood == 0

    def test_what_was_set_of_indexes_is_in_the_answers(self, ds):
        answers = asked(ds, "ldap://127.0.0.1", dn=MANAGER, password=PASSWORD)
        found = the(IndexConfiguration, answers)
        added = defined(found.backends[0].definitions)["displayname"]
        (limit,) = added.scan_limits
        assert (added.types, added.initial, added.system) == ({"eq", "sub"}, 2, False)
        assert (limit.limit, limit.types, limit.flags, limit.values) == (0, {"eq"}, {"AND"}, ("nobody",))
        assert "attribute uniqueness" in searched_by(found.internal_searches)["uid"]
        assert found.virtual_attributes == {"nsrole": "roles", "postalcode": "class of service"}

    def test_the_schema_is_read(self, ds):
        schema = the(Schema, asked(ds, "ldap://127.0.0.1", dn=MANAGER, password=PASSWORD))
        assert schema.whole
        assert schema.primary("commonName") == "cn"

    def test_an_anonymous_bind_gets_the_counters_and_is_told_what_it_lacks(self, ds):
        ds.connect(MANAGER)
        answers = asked(ds, "ldap://localhost")
        monitor = the(Monitor, answers)
        assert (monitor.connections, monitor.current_connections) == (None, 1)
        hidden = {gap.reason: gap.how for gap in answers.gaps}
        assert hidden.keys() == {
            "the connections in cn=monitor: not visible to an anonymous bind",
            "cn=config: not visible to an anonymous bind",
        }
        assert all("Directory Manager" in how for how in hidden.values())

    def test_an_aci_that_hides_cn_monitor_is_told(self, ds):
        aci = '(target="ldap:///cn=monitor*")(targetattr="*")(version 3.0; acl "hidden"; deny (all) userdn="ldap:///anyone";)'
        ds.paste(modify(SERVER, "dn: cn=monitor", "changetype: modify", "add: aci", f"aci: {aci}"))
        answers = asked(ds, "ldap://localhost", dn=SOMEBODY, password=PASSWORD)
        ds.paste(modify(SERVER, "dn: cn=monitor", "changetype: modify", "delete: aci", f"aci: {aci}"))
        assert not any(isinstance(fact, Monitor) for fact in facts(answers))
        assert f"cn=monitor: not visible to '{SOMEBODY}'" in [gap.reason for gap in answers.gaps]

    def test_root_is_the_manager_on_the_local_socket(self, ds):
        ds.connect(SOMEBODY)
        answers = asked(ds, local(f"/proc/{ds.pid}/root/run/slapd-live.socket"), mechanism=Mechanism.EXTERNAL)
        assert (answers.gaps, answers.peer) == ((), None)
        monitor = the(Monitor, answers)
        assert [one.account for one in monitor.connections] == [SOMEBODY]
        assert monitor.current_connections == 1

    def test_a_wrong_password_is_one_gap(self, ds):
        answers = asked(ds, "ldap://localhost", dn=MANAGER, password="wrong")  # noqa: S106  that is the point
        assert answers.pieces == ()
        (gap,) = answers.gaps
        assert gap.reason == f"the bind as '{MANAGER}' failed: invalidCredentials (49)"
        assert "wrong" not in repr(answers)

    def test_after_a_failed_z_no_password_is_sent(self, ds):
        answers = asked(ds, "ldap://localhost", dn=MANAGER, password=PASSWORD, start_tls=StartTls.TRY)
        assert [gap.reason[:25] for gap in answers.gaps] == ["StartTLS failed (protocol"]
        assert answers.pieces == ()
        assert the(Monitor, asked(ds, "ldap://localhost", start_tls=StartTls.TRY)).current_connections == 0
        assert asked(ds, "ldap://localhost", start_tls=StartTls.MUST).pieces == ()


class TestOnOpenldap:
    def test_the_connections_are_exact_to_the_port(self, slapd):
        held = [slapd.connect(ADMIN), slapd.connect(), slapd.connect()]
        answers = asked(slapd, "ldap://127.0.0.1", dn=ADMIN, password=PASSWORD)
        monitor = the(Monitor, answers)
        assert {one.client_port for one in monitor.connections} == {one.getsockname()[1] for one in held}
        assert (monitor.current_connections, monitor.identity.family) == (3, Family.OPENLDAP)
        assert monitor.identity.version
        assert monitor.listeners == (("*", 389), ("*", 636))
        assert [gap.reason for gap in answers.gaps] == [f"cn=config: not visible to '{ADMIN}'"]

    def test_root_reads_the_configuration_on_the_local_socket(self, slapd):
        slapd.connect(ADMIN)
        path = f"/proc/{slapd.pid}/root/run/slapd/ldapi"
        answers = asked(slapd, local(path), mechanism=Mechanism.EXTERNAL)
        assert answers.gaps == ()
        assert the(Configuration, answers).complete
        assert the(Monitor, answers).current_connections == 1
        (backend,) = the(IndexConfiguration, answers).backends
        assert (backend.name, backend.suffixes, backend.definitions) == ("{1}mdb", ("dc=example,dc=com",), ())
        assert the(Schema, answers).primary("commonName") == "cn"
        for name, text in texts(answers).items():
            assert name.endswith(SCHEMA) or not (b"rootpw" in text.lower() or PASSWORD.encode() in text), name

    @pytest.fixture
    def consumer(self, slapd):
        """Make it a replica, whose configuration then holds the password it replicates with."""
        sync = 'rid=1 provider=ldap://127.0.0.1:1 searchbase="dc=example,dc=com" bindmethod=simple retry="3600 +" '
        entry = "dn: olcDatabase={1}mdb,cn=config\\nchangetype: modify\\n"
        change = "ldapmodify -H ldapi:/// -Y EXTERNAL 2>&1 <<END\n{}END"
        value = f'{sync}credentials="s3cret binddn=no" binddn="cn=replicator,dc=example,dc=com"'
        slapd.run(change.format(f"{entry}add: olcSyncrepl\\nolcSyncrepl: {value}\\n".replace("\\n", "\n")))
        yield slapd
        slapd.run(change.format(f"{entry}delete: olcSyncrepl\\n".replace("\\n", "\n")))

    def test_the_account_that_replicates_is_told_and_its_password_is_not(self, consumer):
        path = f"/proc/{consumer.pid}/root/run/slapd/ldapi"
        answers = asked(consumer, local(path), mechanism=Mechanism.EXTERNAL)
        assert the(Configuration, answers).replication_accounts == ("cn=replicator,dc=example,dc=com",)
        assert not any(b"s3cret" in text for text in texts(answers).values())

    @pytest.mark.parametrize(
        ("url", "binding"),
        [
            ("ldaps://localhost", {}),
            ("ldaps://127.0.0.1", {}),
            ("ldap://localhost", {"start_tls": StartTls.MUST}),
            ("ldap://localhost", {"start_tls": StartTls.TRY, "dn": ADMIN, "password": PASSWORD}),
        ],
        ids=["ldaps", "address", "-ZZ", "-Z"],
    )
    def test_tls_with_the_right_ca(self, slapd, url, binding):
        answers = asked(slapd, url, ca_file=str(slapd.folder / "slapd/ca.pem"), **binding)
        assert the(Monitor, answers).current_connections == 0

    @pytest.mark.parametrize("start_tls", [StartTls.NO, StartTls.MUST, StartTls.TRY], ids=["ldaps", "-ZZ", "-Z"])
    @pytest.mark.parametrize(
        ("host", "ca", "reason"),
        [
            ("localhost", "other.pem", "self-signed certificate in certificate chain"),
            ("localhost", None, "self-signed certificate in certificate chain"),
            ("127.0.0.2", "ca.pem", "IP address mismatch, certificate is not valid for '127.0.0.2'"),
        ],
        ids=["wrong CA", "the system's CAs", "wrong host"],
    )
    def test_tls_refuses_with_the_reason(self, slapd, start_tls, host, ca, reason):
        scheme = "ldaps" if start_tls is StartTls.NO else "ldap"
        file = ca and str(slapd.folder / "slapd" / ca)
        answers = asked(slapd, f"{scheme}://{host}", ca_file=file, start_tls=start_tls, dn=ADMIN, password=PASSWORD)
        assert answers.pieces == ()
        (gap,) = answers.gaps
        assert gap.reason == f"certificate verification failed: {reason}"
        assert "--ca-file" in gap.how

    def test_insecure_goes_on_without_checking(self, slapd):
        assert the(Monitor, asked(slapd, "ldaps://127.0.0.2", insecure=True)).current_connections == 0

    def test_a_server_that_wants_tls_says_so(self, slapd):
        change = "ldapmodify -H ldapi:/// -Y EXTERNAL 2>&1 <<END\ndn: cn=config\nchangetype: modify\n{}\nEND"
        slapd.run(change.format("replace: olcSecurity\nolcSecurity: simple_bind=128"))
        (gap,) = asked(slapd, "ldap://localhost", dn=ADMIN, password=PASSWORD).gaps
        slapd.run(change.format("delete: olcSecurity"))
        assert "confidentialityRequired (13)" in gap.reason
        assert "ldaps://" in gap.how

    def test_a_list_cut_by_a_limit_is_no_list(self, slapd):
        change = "ldapmodify -H ldapi:/// -Y EXTERNAL 2>&1 <<END\ndn: {}\nchangetype: modify\n{}\nEND"
        database = "olcDatabase={2}monitor,cn=config"
        slapd.run(change.format(database, "replace: olcSizeLimit\nolcSizeLimit: 100"))
        for _ in range(101):
            slapd.connect()
        answers = asked(slapd, "ldap://localhost")
        slapd.run(change.format(database, "delete: olcSizeLimit"))
        (reason,) = [gap.reason for gap in answers.gaps if "sizeLimitExceeded" in gap.reason]
        assert "stopped after 100 entries" in reason
        monitor = the(Monitor, answers)
        assert (monitor.connections, monitor.current_connections) == (None, 101)

"""What the storage settings of each product mean for a power cut, and that the printed commands make it safe."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, combinations
from typing import TYPE_CHECKING

import pytest

from facts import address_of, origin
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.storage.settings import Role, StoragePlace, StorageSetting, StorageSettings
from ldapdiag.remedy import Needs, RemedyKind
from ldapdiag.servers.commands.server_address import ServerAddress
from ldapdiag.servers.products import FOLDERS, product_of
from ldapdiag.servers.volumes.storage_rules import Durability, StorageRules, Window
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

DURABLE, BATCH = "nsslapd-db-durable-transaction", "nsslapd-db-transaction-batch-val"
FLAGS = ("nosync", "nometasync", "writemap", "mapasync", "nordahead")
NO_SYNC, WRITE_NO_SYNC = "ds-cfg-db-txn-no-sync", "ds-cfg-db-txn-write-no-sync"
V2_3 = (2, 3, 1)


def rules_of(family: Family) -> StorageRules:
    product = product_of(family)
    assert product is not None
    assert product.storage is not None
    return product.storage


def of_389(implementation: str = "bdb", *, complete: bool = True, above: str = "", **own: str) -> StorageSettings:
    """Return the settings of 389-ds: `above` is durability in the entry above that of the implementation."""
    named = {"durable": DURABLE, "batch": BATCH, "checkpoint": "nsslapd-db-checkpoint-interval"}
    rows = [StorageSetting(name="nsslapd-backend-implement", value=implementation)]
    rows += [StorageSetting(name=DURABLE, value=above)] if above else []
    entry = f"cn={implementation}"
    rows += [StorageSetting(name=named[name], value=value, entry=entry) for name, value in own.items()]
    return StorageSettings(
        origin=origin(),
        identity=ServerIdentity(family=Family.DS389),
        places=(StoragePlace(role=Role.DATABASE, path="/srv/db"),),
        settings=tuple(rows),
        complete=complete,
    )


def of_slapd(no_sync: str = "", flags: str = "", checkpoint: str = "", **others: object) -> StorageSettings:
    rows = {"olcDbNoSync": no_sync, "olcDbEnvFlags": flags, "olcDbCheckpoint": checkpoint}
    known = StorageSettings(
        origin=origin(),
        identity=ServerIdentity(family=Family.OPENLDAP),
        places=(),
        settings=tuple(
            StorageSetting(name=name, value=value, backend="{1}mdb") for name, value in rows.items() if value
        ),
        backends=("{1}mdb",),
        complete=True,
    )
    return replace(known, **others)


def of_opends(family: Family = Family.OPENDJ, *, complete: bool = True, **values: str) -> StorageSettings:
    named = {"no_sync": NO_SYNC, "write_no_sync": WRITE_NO_SYNC, "level": "ds-cfg-db-durability", "java": "java-class"}
    return StorageSettings(
        origin=origin(),
        identity=ServerIdentity(family=family),
        places=(StoragePlace(role=Role.DATABASE, path="db/userRoot", backend="userRoot"),),
        settings=tuple(
            StorageSetting(name=named[name], value=value, backend="userRoot") for name, value in values.items()
        ),
        backends=("userRoot",),
        complete=complete,
    )


def applied(settings: StorageSettings, family: Family, version: tuple[int, ...] = ()) -> Durability:
    """Return what applies: the first of a backend."""
    return rules_of(family).durability(settings, version)[0]


class TestDs389:
    @pytest.mark.parametrize(
        ("settings", "window", "flushes"),
        [
            (of_389(durable="on"), Window.NONE, 1),
            (of_389(checkpoint="60"), Window.NONE, 1),
            (of_389(durable="off"), Window.SECONDS, 0),
            (of_389(durable="OFF"), Window.SECONDS, 0),
            (of_389("mdb", durable="on"), Window.NONE, 2),
            (of_389("mdb", durable="off"), Window.NONE, 2),
            (of_389(durable="on", batch="5"), Window.LAST, 1),
            (of_389(durable="off", batch="5"), Window.SECONDS, 0),
            (of_389(durable="on", batch="1"), Window.NONE, 1),
            (of_389(complete=False), Window.UNKNOWN, None),
            (of_389(above="off", durable="on"), Window.NONE, 1),
            (of_389(above="off"), Window.SECONDS, 0),
        ],
    )
    def test_each_setting_has_its_window(self, settings, window, flushes) -> None:
        one = applied(settings, Family.DS389, V2_3)
        assert (one.window, one.flushes_per_write) == (window, flushes)
        assert bool(one.loss) == (window in {Window.LAST, Window.SECONDS})
        assert not one.corrupts

    def test_mdb_ignores_it_in_the_measured_version_alone(self) -> None:
        settings = of_389("mdb", durable="off")
        one = applied(settings, Family.DS389, V2_3)
        assert (one.effective, one.tested) == (False, True)
        assert "ignores it" in one.why
        for version in ((), (3, 0, 1), (2, 4)):
            other = applied(settings, Family.DS389, version)
            assert other.window is Window.UNKNOWN
            assert "not measured" in other.why

    def test_the_setting_above_the_entry_that_is_read_has_no_effect(self) -> None:
        first, second = rules_of(Family.DS389).durability(of_389(above="off", durable="on"), V2_3)
        assert (first.value, first.effective) == ("on", True)
        assert (second.value, second.effective) == ("off", False)
        assert "reads it in cn=bdb" in second.why

    def test_batches_bring_nothing_and_may_lose_a_few(self) -> None:
        one = applied(of_389(durable="on", batch="20"), Family.DS389, V2_3)
        assert "up to 20" in one.loss
        assert "no gain" in one.why

    def test_places_follow_the_packages_where_the_text_has_none(self) -> None:
        found = rules_of(Family.DS389).places(replace(of_389(), places=()), V2_3, "ds1")
        assert {(one.role, one.path) for one in found if one.is_default} == {
            (Role.DATABASE, "/var/lib/dirsrv/slapd-ds1/db"),
            (Role.TRANSACTION_LOG, "/var/lib/dirsrv/slapd-ds1/db"),
            (Role.ACCESS_LOG, "/var/log/dirsrv/slapd-ds1/access"),
            (Role.ERRORS_LOG, "/var/log/dirsrv/slapd-ds1/errors"),
        }
        assert Role.TRANSACTION_LOG not in {one.role for one in rules_of(Family.DS389).places(of_389("mdb"), V2_3, "a")}

    def test_the_remedy_edits_the_file_between_stop_and_start(self) -> None:
        rules, settings = rules_of(Family.DS389), of_389(durable="off")
        server = address_of("ds1", instance="ds1")
        remedy = rules.make_safe(server, settings, applied(settings, Family.DS389, V2_3), V2_3)
        assert remedy is not None
        assert remedy.text.splitlines()[0].startswith("systemctl stop")
        assert remedy.text.splitlines()[-1].startswith("systemctl start")
        assert "/etc/dirsrv/slapd-ds1/dse.ldif" in remedy.text
        assert (remedy.kind, remedy.needs) == (RemedyKind.SHELL, Needs.RESTART)

    def test_the_file_is_that_of_the_evidence(self) -> None:
        rules, settings = rules_of(Family.DS389), of_389(durable="off")
        asked = "the settings of connections and indexes in {}/dse.ldif, of process 7"
        for folder, named in (("/opt/ds/slapd-a", True), ("/proc/7/root/etc", False), ("/a b;touch x", False)):
            one = replace(settings, origin=replace(settings.origin, asked=asked.format(folder)))
            remedy = rules.make_safe(address_of("ds1"), one, applied(one, Family.DS389, V2_3), V2_3)
            assert remedy is not None
            assert (f"{folder}/dse.ldif" in remedy.text) == named
            assert (remedy.kind is RemedyKind.SHELL) == named
            assert ("systemctl stop dirsrv@a &&" in remedy.text) == named, "the instance of that file, and no other"

    def test_a_file_without_the_name_of_an_instance_is_that_of_the_server_s_instance(self) -> None:
        settings = of_389(durable="off")
        one = replace(settings, origin=replace(settings.origin, asked="cat /opt/ds/dse.ldif"))
        for instance, kind in (("a", RemedyKind.SHELL), ("", RemedyKind.ADVICE)):
            server = address_of("ds1", instance=instance)
            remedy = rules_of(Family.DS389).make_safe(server, one, applied(one, Family.DS389, V2_3), V2_3)
            assert remedy is not None
            assert remedy.kind is kind
            assert ("/opt/ds/dse.ldif" in remedy.text) == (instance == "a")
            assert ("systemctl stop dirsrv@a &&" in remedy.text) == (instance == "a")

    def test_one_of_several_servers_is_stopped_alone(self) -> None:
        settings = of_389(durable="off")
        server = ServerAddress(name="ds (a)", host="ds", ports=(389,), instance="a")
        remedy = rules_of(Family.DS389).make_safe(server, settings, applied(settings, Family.DS389, V2_3), V2_3)
        assert remedy is not None
        adapted = server.adapt(remedy)
        assert "systemctl stop dirsrv@a " in adapted.text
        assert "dirsrv.target" not in adapted.text + adapted.undo


class TestSlapd:
    @pytest.mark.parametrize(
        ("settings", "window", "flushes", "seconds"),
        [
            (of_slapd(), Window.NONE, 2, None),
            (of_slapd("FALSE", "nordahead"), Window.NONE, 2, None),
            (of_slapd("FALSE", "writemap"), Window.NONE, 2, None),
            (of_slapd("FALSE", "mapasync"), Window.NONE, 2, None),
            (of_slapd("TRUE"), Window.SECONDS, 0, 30),
            (of_slapd("", "nosync"), Window.SECONDS, 0, 30),
            (of_slapd("FALSE", "nosync"), Window.SECONDS, 0, 30),
            (of_slapd("TRUE", "nordahead"), Window.SECONDS, 0, 30),
            (of_slapd("", "nometasync"), Window.LAST, 1, None),
            (of_slapd("", "writemap mapasync"), Window.SECONDS, 0, 30),
            (of_slapd("TRUE", "writemap"), Window.UNBOUNDED, 0, None),
            (of_slapd("TRUE", "writemap", "512 0"), Window.UNBOUNDED, 0, None),
            (of_slapd("TRUE", "writemap", "512 5"), Window.SECONDS, 0, 300),
            (of_slapd(complete=False), Window.UNKNOWN, None, None),
        ],
    )
    def test_each_setting_has_its_window(self, settings, window, flushes, seconds) -> None:
        one = applied(settings, Family.OPENLDAP)
        assert (one.window, one.flushes_per_write, one.window_seconds) == (window, flushes, seconds)
        assert one.corrupts == (window in {Window.SECONDS, Window.UNBOUNDED})
        assert one.survives_kill or window is Window.UNKNOWN

    @pytest.mark.parametrize(
        ("settings", "words"),
        [
            (of_slapd("", "mapasync"), "without writemap"),
            (of_slapd("TRUE", "writemap mapasync"), "beside nosync"),
            (of_slapd("", "writemap"), "no gain"),
            (of_slapd("TRUE", "", "512 0"), "only the minutes"),
        ],
    )
    def test_what_has_no_effect_is_named(self, settings, words) -> None:
        void = [one for one in rules_of(Family.OPENLDAP).durability(settings, ()) if not one.effective]
        assert len(void) == 1
        assert words in void[0].why

    def test_older_kinds_of_database_are_not_known_to_be_safe(self) -> None:
        settings = of_slapd(backends=("{1}hdb",))
        assert applied(settings, Family.OPENLDAP).window is Window.UNKNOWN

    @pytest.mark.parametrize("name", ["default", "unsynced", "mapped", "meta"])
    def test_a_file_and_what_slapd_makes_of_it_mean_the_same(self, captures: Path, name: str) -> None:
        folder, meanings = captures / "openldap" / f"storage-{name}", []
        for file in ("slapd.conf", "config.ldif"):
            path = folder / file
            (settings,) = [
                one for one in facts_of(path.read_bytes(), path=f"ldap/{path.name}") if isinstance(one, StorageSettings)
            ]
            found = rules_of(Family.OPENLDAP).durability(settings, ())
            meanings.append(
                [(one.backend, one.window, one.loss, one.effective, one.flushes_per_write) for one in found]
            )
        assert meanings[0] == meanings[1]
        window = {"default": Window.NONE, "unsynced": Window.SECONDS, "mapped": Window.SECONDS}.get(name, Window.LAST)
        assert dict(reversed([one[:2] for one in meanings[0]])) == {"{1}mdb": Window.NONE, "{2}mdb": window}

    def test_what_the_remedy_writes_is_safe_and_its_undo_is_the_former_state(self) -> None:
        every = chain.from_iterable(combinations(FLAGS, count) for count in range(len(FLAGS) + 1))
        changed = 0
        for flags in every:
            for no_sync in ("", "TRUE", "FALSE"):
                settings = of_slapd(no_sync, " ".join(flags))
                one = applied(settings, Family.OPENLDAP)
                remedy = rules_of(Family.OPENLDAP).make_safe(address_of("ldap"), settings, one, ())
                assert (remedy is None) == one.is_safe
                if remedy is not None:
                    changed += 1
                    assert applied(written_by(remedy.text), Family.OPENLDAP).is_safe
                    former = [(row.name, row.value) for row in settings.settings]
                    assert [(row.name, row.value) for row in written_by(remedy.undo).settings] == former
        assert changed == 32 + 2 * 26, "with dbnosync all, else those with nosync, nometasync, or writemap and mapasync"

    def test_slapd_conf_is_edited_by_hand(self) -> None:
        settings = of_slapd("TRUE", file="slapd.conf")
        remedy = rules_of(Family.OPENLDAP).make_safe(
            address_of("ldap"), settings, applied(settings, Family.OPENLDAP), ()
        )
        assert remedy is not None
        assert (remedy.kind, remedy.needs) == (RemedyKind.ADVICE, Needs.RESTART)
        assert "number 1 ({1}mdb), remove the line 'dbnosync'. Test" in remedy.text

    def test_of_slapd_conf_only_the_unsafe_words_are_removed(self) -> None:
        settings = of_slapd("", "writemap mapasync", file="slapd.conf")
        one = applied(settings, Family.OPENLDAP)
        remedy = rules_of(Family.OPENLDAP).make_safe(address_of("ldap"), settings, one, ())
        assert remedy is not None
        assert "remove mapasync from the lines 'envflags'" in remedy.text
        assert "dbnosync" not in remedy.text

    def test_a_name_that_is_none_enters_no_command(self) -> None:
        backend = "{1}mdb;touch x"
        settings = of_slapd("TRUE", backends=(backend,))
        one = replace(applied(of_slapd("TRUE"), Family.OPENLDAP), backend=backend)
        assert rules_of(Family.OPENLDAP).make_safe(address_of("ldap"), settings, one, ()) is None


def written_by(text: str) -> StorageSettings:
    """Return the settings that the LDIF of an ldapmodify writes."""
    lines = [line.partition(": ") for line in text.splitlines()]
    no_sync = next((value for name, _, value in lines if name == "olcDbNoSync"), "")
    return of_slapd(no_sync, " ".join(value for name, _, value in lines if name == "olcDbEnvFlags"))


@pytest.mark.parametrize("family", [Family.OPENDJ, Family.PING])
@pytest.mark.parametrize(
    ("values", "window", "survives"),
    [
        ({}, Window.SECONDS, True),
        ({"write_no_sync": "true"}, Window.SECONDS, True),
        ({"write_no_sync": "false"}, Window.NONE, True),
        ({"no_sync": "true", "write_no_sync": "false"}, Window.SECONDS, False),
        ({"level": "HIGH"}, Window.NONE, True),
        ({"level": "MEDIUM"}, Window.SECONDS, True),
        ({"level": "LOW"}, Window.SECONDS, False),
        ({"java": "org.opends.server.backends.pdb.PDBBackend"}, Window.NONE, True),
        ({"complete": False}, Window.UNKNOWN, False),
        ({"complete": False, "write_no_sync": "true"}, Window.SECONDS, True),
    ],
)
def test_opends_is_not_safe_by_default(family, values, window, survives) -> None:
    settings = of_opends(family, **values)
    one = applied(settings, family)
    assert (one.window, one.survives_kill, one.tested) == (window, survives, False)
    assert one.is_default == ((window is not Window.UNKNOWN and not values) or "java" in values)
    remedy = rules_of(family).make_safe(address_of("ldap"), settings, one, ())
    assert (remedy is None) == (window in {Window.NONE, Window.UNKNOWN})
    if remedy is not None:
        assert "dsconfig set-backend-prop" in remedy.text
        assert "--backend-name userRoot" in remedy.text
        assert "true" not in remedy.text


def test_the_folders_of_opendj_are_below_its_instance_where_that_is_known() -> None:
    for root, path in (("", "db/userRoot"), ("/opt/opendj", "/opt/opendj/db/userRoot")):
        (place,) = rules_of(Family.OPENDJ).places(replace(of_opends(), root=root), (), "")
        assert place.path == path


@pytest.mark.parametrize("name", ["nsslapd-db-durable-transactions", "db-durable-transaction-enabled"])
def test_dsee_flushes_each_transaction_unless_it_is_told_not_to(name) -> None:
    known = of_389()
    for value, window in (("on", Window.NONE), ("off", Window.SECONDS)):
        settings = replace(known, settings=(StorageSetting(name=name, value=value),))
        one = applied(settings, Family.DSEE)
        assert (one.setting, one.window, one.tested) == (name, window, False)
        remedy = rules_of(Family.DSEE).make_safe(address_of("ds1"), settings, one, (7, 0))
        assert (remedy is None) == (value == "on")
        if remedy is not None:
            assert "db-durable-transaction-enabled:on" in remedy.text


def test_dsee_before_dsconf_is_changed_by_ldapmodify() -> None:
    settings = replace(of_389(), settings=(StorageSetting(name="nsslapd-db-durable-transactions", value="off"),))
    remedy = rules_of(Family.DSEE).make_safe(address_of("ds1"), settings, applied(settings, Family.DSEE), (5, 2))
    assert remedy is not None
    assert "replace: nsslapd-db-durable-transactions" in remedy.text


@pytest.mark.parametrize("family", FOLDERS)
def test_an_excerpt_without_settings_is_never_safe(family) -> None:
    """A missing source is no all-clear: only a complete text has defaults."""
    product = product_of(family)
    assert product is not None
    if product.storage is None:
        assert family is Family.AD
        return
    bare = StorageSettings(
        origin=origin(), identity=ServerIdentity(family=family), places=(), settings=(), backends=("{1}mdb",)
    )
    found = product.storage.durability(bare, ())
    assert {one.window for one in found} == {Window.UNKNOWN}

"""Storage settings: where servers keep their data and when it is on the disk, from real texts of each product."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts import origin
from ldapdiag.evidence import ldif_format, slapd_conf_format
from ldapdiag.evidence.document import Document
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.ldif import Entry
from ldapdiag.evidence.storage.opends_settings import OpendsStorageSettings
from ldapdiag.evidence.storage.settings import (
    LONGEST_PATH,
    MOST_ROWS,
    Role,
    SettingsReader,
    StorageSetting,
    StorageSettings,
    merged_settings,
)
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

PARENT = "cn=config,cn=ldbm database,cn=plugins,cn=config"
DSEE = f"""dn: cn=config
objectClass: top
cn: config
nsslapd-infolog-area: 0
nsslapd-accesslog: /local/ds/logs/access

dn: cn=changelog5,cn=config
nsslapd-changelogdir: /local/ds/changelog

dn: {PARENT}
nsslapd-directory: /local/ds/db
nsslapd-db-durable-transactions: off

"""
"""By hand, after Oracle's E28967."""
DSCONF = """db-batched-transaction-count    :  10
db-checkpoint-interval          :  60
db-durable-transaction-enabled  :  on
db-log-path                     :  /local/ds/db
idle-timeout                    :  none
root-pwd                        :  hunter2
"""
"""By hand, after the manual pages of section 5dsconf."""
OPENDJ = """dn: ds-cfg-backend-id=userRoot,cn=Backends,cn=config
objectClass: ds-cfg-je-backend
ds-cfg-backend-id: userRoot
ds-cfg-java-class: org.opends.server.backends.jeb.JEBackend
ds-cfg-enabled: true
ds-cfg-base-dn: dc=example,dc=com
ds-cfg-db-directory: db
ds-cfg-db-txn-no-sync: false
ds-cfg-db-txn-write-no-sync: false

dn: ds-cfg-backend-id=old,cn=Backends,cn=config
ds-cfg-backend-id: old
ds-cfg-enabled: false
ds-cfg-db-directory: db

dn: cn=replication server,cn=Multimaster Synchronization,cn=Synchronization Providers,cn=config
objectClass: ds-cfg-replication-server
ds-cfg-replication-db-directory: changelogDb

dn: cn=File-Based Access Logger,cn=Loggers,cn=config
objectClass: ds-cfg-file-based-access-log-publisher
ds-cfg-enabled: true
ds-cfg-log-file: logs/access

dn: cn=File-Based Error Logger,cn=Loggers,cn=config
objectClass: ds-cfg-file-based-error-log-publisher
ds-cfg-log-file: logs/errors

"""
"""By hand, after the template opendj-server-legacy/resource/config/config.ldif."""


def settings_of(text: str | bytes, path: str = "ldap/config.ldif") -> StorageSettings:
    (found,) = [fact for fact in facts_of(text, path=path) if isinstance(fact, StorageSettings)]
    return found


def placed(found: StorageSettings) -> set[tuple[Role, str, str]]:
    return {(one.role, one.path, one.backend) for one in found.places}


class TestDs389:
    @pytest.mark.parametrize("name", ["bdb", "mdb"])
    def test_the_capture_has_its_folders_and_settings(self, captures: Path, name: str) -> None:
        found = settings_of((captures / "389ds" / f"storage-{name}" / "dse.ldif").read_bytes())
        db = "/var/lib/dirsrv/slapd-live/db"
        assert (Role.DATABASE, db, "") in placed(found)
        assert (Role.ACCESS_LOG, "/var/log/dirsrv/slapd-live/access", "") in placed(found)
        assert ((Role.TRANSACTION_LOG, db, "") in placed(found)) == (name == "bdb")
        assert (found.identity.family, found.identity.version) == (Family.DS389, (2, 3, 1))
        assert (found.complete, found.backends) == (True, ())
        assert StorageSetting(name="nsslapd-db-durable-transaction", value="on", entry=f"cn={name}") in found.settings
        assert found.value("NSSLAPD-ACCESSLOG-LOGBUFFERING") == "off"

    @pytest.mark.parametrize(
        ("enabled", "audited"), [("on", {Role.AUDIT_LOG}), ("off", set()), ("", set())]
    )  # fmt: skip
    def test_an_audit_log_has_a_place_where_it_is_written(self, enabled: str, audited: set[Role]) -> None:
        rows = ["nsslapd-errorlog: /l/errors", "nsslapd-auditlog: /l/audit", "nsslapd-auditfaillog: /l/audit"]
        rows += [f"nsslapd-auditlog-logging-enabled: {enabled}"] if enabled else []
        found = settings_of("\n".join(["dn: cn=config", "objectClass: top", *rows, "", ""]))
        assert {one.role for one in found.places} == {Role.ERRORS_LOG} | audited

    def test_an_excerpt_without_the_folder_of_the_databases_is_not_complete(self, captures: Path) -> None:
        text = (captures / "389ds" / "storage-bdb" / "dse.ldif").read_text()
        assert not settings_of(text.replace("nsslapd-directory: /var/lib/dirsrv/slapd-live/db\n", "")).complete

    def test_a_text_that_ends_within_an_entry_is_not_complete(self, captures: Path) -> None:
        text = (captures / "389ds" / "storage-bdb" / "dse.ldif").read_text().rstrip("\n")
        assert not settings_of(text).complete

    def test_the_plural_names_dsee(self) -> None:
        found = settings_of(DSEE)
        assert found.identity.family is Family.DSEE
        assert (Role.CHANGELOG, "/local/ds/changelog", "") in placed(found)
        assert found.value("nsslapd-db-durable-transactions") == "off"


class TestSlapd:
    @pytest.mark.parametrize("name", ["default", "unsynced", "mapped", "meta"])
    def test_what_slapd_makes_of_a_file_has_the_places_of_the_file(self, captures: Path, name: str) -> None:
        folder = captures / "openldap" / f"storage-{name}"
        by_entry = settings_of((folder / "config.ldif").read_bytes())
        by_file = settings_of((folder / "slapd.conf").read_bytes(), "ldap/slapd.conf")
        assert placed(by_entry) == placed(by_file) == {
            (Role.CHANGELOG, "/srv/ldap/accesslog", "{1}mdb"),
            (Role.DATABASE, "/srv/ldap/db", "{2}mdb"),
        }  # fmt: skip
        assert by_entry.backends == by_file.backends == ("{1}mdb", "{2}mdb")
        assert (by_entry.complete, by_file.complete) == (True, True)
        assert (by_entry.file, by_file.file) == ("", "slapd.conf")

    def test_the_flag_of_the_file_becomes_two_settings(self, captures: Path) -> None:
        found = settings_of((captures / "openldap" / "storage-unsynced" / "config.ldif").read_bytes())
        assert [found.value(name, "{2}mdb") for name in ("olcDbNoSync", "olcDbEnvFlags", "olcDbCheckpoint")] == [
            "TRUE", "nosync", "512 0"
        ]  # fmt: skip

    def test_flags_of_several_lines_add_up(self, captures: Path) -> None:
        found = settings_of((captures / "openldap" / "storage-meta" / "slapd.conf").read_bytes(), "ldap/slapd.conf")
        assert found.value("envflags", "{2}mdb") == "nometasync nordahead"

    @pytest.mark.parametrize(
        ("line", "value"), [("dbnosync", "TRUE"), ("dbnosync on", "TRUE"), ("dbnosync off", "FALSE")]
    )
    def test_the_directive_may_have_a_value(self, line: str, value: str) -> None:
        found = settings_of(f"database mdb\nsuffix dc=x\ndirectory /srv/db\n{line}\n", "ldap/slapd.conf")
        assert found.value("dbnosync", "{1}mdb") == value

    def test_an_entry_as_older_collections_have_it_is_not_complete(self) -> None:
        text = (
            "dn: olcDatabase={1}mdb,cn=config\nobjectClass: olcMdbConfig\nolcDatabase: {1}mdb\nolcDbDirectory: /db\n\n"
        )
        assert not settings_of(text).complete
        assert settings_of(text.replace("\n\n", "\nstructuralObjectClass: olcMdbConfig\n\n")).complete

    def test_a_file_that_includes_others_is_not_complete(self) -> None:
        text = "database mdb\nsuffix dc=x\ndirectory /srv/db\ninclude /etc/more.conf\n"
        assert not settings_of(text, "ldap/slapd.conf").complete


class TestOpends:
    def test_enabled_backends_changelog_and_logs_have_their_places(self) -> None:
        found = settings_of(OPENDJ)
        assert placed(found) == {
            (Role.DATABASE, "db/userRoot", "userRoot"),
            (Role.CHANGELOG, "changelogDb", ""),
            (Role.ACCESS_LOG, "logs/access", ""),
            (Role.ERRORS_LOG, "logs/errors", ""),
        }
        assert (found.complete, found.backends) == (True, ("userRoot",))
        assert found.value("ds-cfg-db-txn-write-no-sync", "userRoot") == "false"

    def test_the_folder_of_the_instance_is_that_of_the_file(self) -> None:
        entry = {"ds-cfg-backend-id": ("userRoot",), "ds-cfg-db-directory": ("db",)}
        asked = "the settings of connections and indexes in /opt/opendj/config/config.ldif, of process 7"
        reader = OpendsStorageSettings(Document(path="ldap/config.ldif", asked=asked))
        reader.take(Entry(dn="ds-cfg-backend-id=userRoot,cn=Backends,cn=config", attributes=entry))
        (found,) = reader.facts()
        assert found.root == "/opt/opendj"

    def test_dsconfig_without_advanced_properties_is_not_complete(self, corpus: Path) -> None:
        path = corpus / "3-opendj-unindexed" / "config" / "dsconfig-backend-userRoot.txt"
        found = settings_of(path.read_bytes(), "ldap/backend.txt")
        assert placed(found) == {(Role.DATABASE, "db/userRoot", "userRoot")}
        assert not found.complete
        shown = path.read_text().replace(
            "enabled  ", "db-txn-no-sync : false\ndb-txn-write-no-sync : true\nenabled  ", 1
        )
        assert settings_of(shown, "ldap/backend.txt").complete


def test_dsconf_of_dsee_shows_its_transactions_and_no_password() -> None:
    found = settings_of(DSCONF, "ldap/dsconf.txt")
    assert placed(found) == {(Role.TRANSACTION_LOG, "/local/ds/db", "")}
    assert {one.name: one.value for one in found.settings} == {
        "db-durable-transaction-enabled": "on", "db-batched-transaction-count": "10", "db-checkpoint-interval": "60"
    }  # fmt: skip
    assert "hunter2" not in repr(facts_of(DSCONF, path="ldap/dsconf.txt"))


class TestMerging:
    def test_each_backend_is_that_of_the_most_complete_text(self, captures: Path) -> None:
        whole = settings_of((captures / "openldap" / "storage-unsynced" / "config.ldif").read_bytes())
        excerpt = replace(whole, complete=False, settings=(), origin=origin(name="later", taken=9))
        assert merged_settings([excerpt, whole]) == whole
        assert merged_settings([]) is None

    def test_places_of_another_text_are_added(self, captures: Path) -> None:
        entries = (captures / "389ds" / "storage-bdb" / "dse.ldif").read_text()
        config, _, databases = entries.partition("\n\n")
        one, other = settings_of(f"{config}\n\n"), settings_of(databases)
        for merged in (merged_settings([one, other]), merged_settings([other, one])):
            assert merged is not None
            assert placed(merged) == placed(settings_of(entries))
            assert set(merged.settings) == set(settings_of(entries).settings)
            assert merged.complete


class TestHostileTexts:
    @given(st.text(max_size=300))
    def test_a_path_is_printable_and_no_longer_than_any(self, path: str) -> None:
        reader = SettingsReader(Document(path="x"))
        reader.keep_place(Role.DATABASE, path * 40)
        assert all(one.path.isprintable() and 0 < len(one.path) <= LONGEST_PATH for one in reader.places)

    def test_rows_have_a_limit(self) -> None:
        reader = SettingsReader(Document(path="x"))
        for number in range(MOST_ROWS + 50):
            reader.keep_setting("olcDbNoSync", "TRUE" * 200, f"{{{number}}}mdb")
        (found,) = reader.found(Family.OPENLDAP, complete=True)
        assert len(found.settings) == MOST_ROWS
        assert max(len(one.value) for one in found.settings) < 300
        assert "Only the first" in found.origin.notes[0]

    @given(st.data())
    def test_a_damaged_text_is_read_without_a_crash(self, data: st.DataObject) -> None:
        text = data.draw(st.sampled_from([DSEE, OPENDJ, "database mdb\ndirectory /x\nenvflags nosync\ncheckpoint\n"]))
        at, more = data.draw(st.integers(0, len(text))), data.draw(st.text(max_size=20))
        form = slapd_conf_format.FORMAT if text.startswith("database") else ldif_format.FORMAT
        found = facts_of(text[:at] + more + text[at + data.draw(st.integers(0, 40)) :], form=form)
        origins = [one.origin for one in found if isinstance(one, StorageSettings)]
        assert all(one.lines == one.understood + one.not_understood for one in origins)

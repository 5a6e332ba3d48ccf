"""What shortens the wait of writes for the disk: a faster disk first; fewer flushes only where slapd makes two."""

from __future__ import annotations

import pytest

import facts
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.storage.settings import StorageSetting, StorageSettings
from ldapdiag.remedy import RemedyKind
from ldapdiag.servers.ds389 import remedies as ds389
from ldapdiag.servers.dsee import storage as dsee
from ldapdiag.servers.openldap import storage as openldap

LMDB = "{1}mdb"


def settings(*values: tuple[str, str], file: str = "", complete: bool = True, backend: str = LMDB) -> StorageSettings:
    return StorageSettings(
        origin=facts.origin(name="cn-config.ldif"),
        identity=ServerIdentity(family=Family.OPENLDAP),
        places=(),
        settings=tuple(StorageSetting(name=name, value=value, backend=backend) for name, value in values),
        backends=(backend,),
        complete=complete,
        file=file,
    )


def kinds(configured: StorageSettings | None) -> list[RemedyKind]:
    return [one.kind for one in openldap.shorten_commits(facts.address_of(), configured)]


def test_slapd_with_its_defaults_flushes_once_by_a_command() -> None:
    faster, once = openldap.shorten_commits(facts.address_of(), settings(("olcDbNoSync", "FALSE")))
    assert "No acknowledged change is lost" in faster.changes
    assert f"dn: olcDatabase={LMDB},cn=config\nchangetype: modify\nadd: olcDbEnvFlags\n" in once.text
    assert "delete: olcDbEnvFlags\nolcDbEnvFlags: nometasync\n" in once.undo
    assert "lose the last acknowledged change" in once.risk


@pytest.mark.parametrize(
    "configured",
    [
        settings(("olcDbEnvFlags", "nometasync")),
        settings(("olcDbEnvFlags", "writemap nosync")),
        settings(("olcDbNoSync", "TRUE")),
        settings(backend="{1}hdb"),
        settings(backend="{1}mdb,cn=x"),
    ],
)
def test_no_second_flush_is_taken_from_a_database_that_has_none(configured: StorageSettings) -> None:
    assert kinds(configured) == [RemedyKind.ADVICE]


@pytest.mark.parametrize("configured", [None, settings(file="slapd.conf"), settings(complete=False)])
def test_without_cn_config_or_its_whole_text_it_is_advice(configured: StorageSettings | None) -> None:
    assert kinds(configured) == [RemedyKind.ADVICE, RemedyKind.ADVICE]


@pytest.mark.parametrize(
    ("product", "version", "what"),
    [(ds389, (2, 3, 1), "transaction log"), (ds389, (3, 0), "database"), (dsee, (), "transaction log")],
)
def test_389_ds_and_dsee_have_a_faster_disk_only(product, version: tuple[int, ...], what: str) -> None:
    (faster,) = product.shorten_commits(facts.address_of(), None, version)
    assert faster.title == f"Put the {what} on a disk with a faster sync"
    assert faster.kind is RemedyKind.ADVICE


@pytest.mark.parametrize("product", [ds389, dsee, openldap])
def test_no_remedy_removes_barriers_or_turns_the_syncs_off(product) -> None:
    for configured in (None, settings()):
        for remedy in product.shorten_commits(facts.address_of(), configured):
            assert not any(
                word in f"{remedy.text} {remedy.undo}" for word in ("nobarrier", "barrier=0", "durable", "mapasync")
            )
            assert "nosync" not in remedy.text.replace("nometasync", "")

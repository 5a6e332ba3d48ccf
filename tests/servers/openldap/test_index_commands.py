"""Which commands change index lines: online where a build can be seen, else with slapd stopped."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace

import pytest

from facts import address_of
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.indexes import Backend, IndexConfiguration, IndexDefinition
from ldapdiag.evidence.origin import Origin
from ldapdiag.evidence.schema.standard import standard
from ldapdiag.servers.commands.shell_session import is_block
from ldapdiag.servers.indexes.candidates import Change, IndexPlace
from ldapdiag.servers.openldap.index_changes import with_types, without_types
from ldapdiag.servers.openldap.index_commands import Procedure, changing, procedure_of
from ldapdiag.servers.openldap.index_remedies import add_indexes_ldif

SCHEMA = standard()
PLACE = Backend(
    name="{1}mdb", suffixes=("dc=example,dc=com",), entry="olcDatabase={1}mdb,cn=config",
    definitions=(IndexDefinition(attribute="cn", types=frozenset({"eq"}), written="cn eq"),),
)  # fmt: skip
MONITORED = IndexConfiguration(
    origin=Origin(path="x"), identity=ServerIdentity(family=Family.OPENLDAP), backends=(PLACE,), monitored=True
)
ADDED = with_types([Change("cn", "sub")], PLACE, SCHEMA)
DROPPED = without_types([Change("cn", "eq")], PLACE, SCHEMA)
SHELLS = [shell for shell in ("dash", "bash") if shutil.which(shell)]


@pytest.mark.parametrize(
    ("lines", "known", "procedure"),
    [
        (ADDED, {"monitored": True}, Procedure.ONLINE),
        (ADDED, {"monitored": None}, Procedure.ONLINE),
        (ADDED, {"monitored": False}, Procedure.OFFLINE),
        (DROPPED, {"monitored": False}, Procedure.UNWATCHED),
        (ADDED, {"file": "slapd.conf"}, Procedure.FILE),
    ],
)
def test_a_build_that_cannot_be_seen_is_not_begun(lines, known, procedure) -> None:
    assert procedure_of(lines, PLACE, replace(MONITORED, **known)) is procedure


@pytest.mark.parametrize("known", [{"monitored": True}, {"monitored": False}, {"file": "slapd.conf"}])
@pytest.mark.parametrize("lines", [ADDED, DROPPED, ADDED.reversed])
def test_the_text_is_shell_text_and_ends_with_the_answers(lines, known) -> None:
    text = changing(address_of(), "Index it's", lines, PLACE, replace(MONITORED, **known), SCHEMA)
    assert "\nanswers_right\n}\n" in text
    assert is_block(text)
    for shell in SHELLS:
        subprocess.run([shell, "-n"], input=text, text=True, check=True)


def test_each_write_waits_for_the_indexer() -> None:
    text = changing(address_of(), "Index", ADDED, PLACE, MONITORED, SCHEMA)
    steps = [line for line in text.split("steps() {")[1].splitlines() if not line.startswith("state=")]
    write = steps.index("change <<'LDIF'")
    assert steps[write - 1] == steps[steps.index("LDIF") + 1] == "until_built"


def test_there_is_no_ldif_for_a_build_that_cannot_be_seen() -> None:
    seen = IndexPlace(address_of(), PLACE, MONITORED, SCHEMA)
    assert add_indexes_ldif(seen, [Change("cn", "sub")])
    unseen = seen._replace(configuration=replace(MONITORED, monitored=False))
    assert add_indexes_ldif(unseen, [Change("cn", "sub")]) is None

"""What is read from the schema of a 389-ds before an index is added; tests/live runs all commands on a real one."""

from __future__ import annotations

import subprocess

import pytest

from facts import address_of, origin
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.indexes import Backend, IndexConfiguration
from ldapdiag.evidence.schema.standard import standard
from ldapdiag.servers.ds389.index_build import BUILDING
from ldapdiag.servers.ds389.index_remedies import add_indexes, add_indexes_ldif
from ldapdiag.servers.indexes.candidates import Change, IndexPlace

INTEGER = "SYNTAX 1.3.6.1.4.1.1466.115.121.1.27"
BACKEND = Backend(name="userRoot", suffixes=("dc=example,dc=com",), definitions=())
CONFIGURATION = IndexConfiguration(
    origin=origin(), identity=ServerIdentity(family=Family.DS389, version=(2, 3, 1)), backends=(BACKEND,)
)
KNOWN = Change("displayName", "eq")


@pytest.mark.parametrize(
    ("change", "guarded"),
    [
        (Change("ourNumber", "eq"), True),
        (Change("ourNumber", "eq", "integerMatch"), True),
        (Change("ourNumber", "eq", "integerOrderingMatch"), False),
        (Change("ourNumber", "pres"), False),
        (KNOWN, False),
    ],
)
def test_an_attribute_that_no_known_schema_defines_may_be_a_number(change, guarded) -> None:
    """An index eq of a number without an ordering rule sorts it as text: ranges that were right miss entries."""
    place = IndexPlace(address_of(), BACKEND, CONFIGURATION, standard())
    steps = add_indexes(place, (change,)).text.partition("\nset -eu\n")[0]
    assert ("\nno_unordered_number ourNumber\nunbuilt=" in steps) == guarded
    assert not guarded or steps.index("no_unordered_number") < steps.index("changetype: add")
    ldif = add_indexes_ldif(place, (change, KNOWN))
    assert ("dn: cn=ourNumber," in ldif) == (change is not KNOWN and not guarded)
    assert ("# Not in this LDIF: ourNumber. " in ldif) == guarded
    assert "dn: cn=displayName," in ldif


@pytest.mark.parametrize(
    ("definition", "stops"),
    [
        (f"NAME 'ourNumber' EQUALITY integerMatch {INTEGER} X-ORIGIN 'us'", True),
        (f"NAME ( 'n' 'OURNUMBER' ) EQUALITY integerMatch {INTEGER}", True),
        (f"NAME 'ourNumber' EQUALITY integerMatch ORDERING integerOrderingMatch {INTEGER}", False),
        ("NAME 'ourNumber' EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15", False),
        (f"NAME 'ourNumber2' EQUALITY integerMatch {INTEGER}", False),
        ("", True),
    ],
)
def test_the_schema_of_the_server_shows_whether_it_is_one(definition, stops) -> None:
    schema = f"attributeTypes: ( 2.5.4.3 NAME 'cn' )\nattributeTypes: ( 1.2.3.4 {definition} )\n"
    functions = f'say() {{ echo "$@"; }}\n{BUILDING}\nsearch() {{ printf %s "$schema"; }}\nset -eu\n'
    argv = ["sh", "-c", f"{functions}no_unordered_number ourNumber\necho applied"]
    environment = {"schema": schema if definition else "", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(argv, env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == ((1, b"") if stops else (0, b"applied\n"))
    assert bool(done.stderr) == stops

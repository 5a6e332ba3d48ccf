"""VLV searches and indexes in LDIF, and what they hold."""

from __future__ import annotations

import pytest

from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.indexes.vlv import VlvSearch
from reading import facts_of

DATABASES = "cn=ldbm database,cn=plugins,cn=config"
TEXT = f"""dn: cn=by_cn,cn=people,cn=userRoot,{DATABASES}
objectClass: top
objectClass: vlvIndex
cn: by_cn
vlvSort: -uidNumber cn
vlvEnabled: 1
vlvUses: 7
createTimestamp: 20261122120000Z

dn: cn=userRoot,{DATABASES}
cn: userRoot
nsslapd-suffix: dc=example,dc=com

dn: cn=people,cn=userRoot,{DATABASES}
objectClass: vlvSearch
cn: people
vlvBase: ou=people,dc=example,dc=com
vlvScope: 2
vlvFilter: (objectClass=person)
aci: (targetattr="*")(version 3.0; acl "VLV"; allow (read,search,compare) userdn="ldap:///all";)

dn: cn=uid,cn=index,cn=userRoot,{DATABASES}
cn: uid
nsIndexType: eq

dn: cn=encrypted attributes,cn=userRoot,{DATABASES}
objectClass: top

"""


def read(text: str = TEXT) -> VlvSearch:
    (configuration,) = [one for one in facts_of(text) if isinstance(one, IndexConfiguration)]
    (backend,) = configuration.backends
    assert [one.attribute for one in backend.definitions] == ["uid"]
    (search,) = backend.vlv_searches
    return search


def test_a_search_has_its_indexes_in_whatever_order_their_entries_come() -> None:
    search = read()
    assert (search.name, search.base, search.scope) == ("people", "ou=people,dc=example,dc=com", "sub")
    assert "ldap:///all" in search.acis[0]
    (index,) = search.indexes
    assert (index.name, index.sort, index.enabled, index.uses) == ("by_cn", "-uidNumber cn", True, 7)
    assert index.created is not None


def test_the_state_is_unknown_where_it_is_not_shown() -> None:
    (index,) = read(TEXT.replace("vlvEnabled: 1\nvlvUses: 7\n", "")).indexes
    assert (index.enabled, index.uses) == (None, None)
    (index,) = read(TEXT.replace("vlvEnabled: 1", "vlvEnabled: 0")).indexes
    assert index.enabled is False


@pytest.mark.parametrize(
    ("base", "scope", "filter_", "answered"),
    [
        ("ou=people,dc=example,dc=com", "sub", "(objectClass=person)", True),
        ("OU=People, dc=example, dc=com", "sub", "(OBJECTCLASS=Person)", True),
        ("ou=people,dc=example,dc=com", "one", "(objectClass=person)", False),
        ("dc=example,dc=com", "sub", "(objectClass=person)", False),
        ("ou=people,dc=example,dc=com", "sub", "(objectClass=inetOrgPerson)", False),
        ("ou=people,dc=example,dc=com", "sub", "(&(objectClass=person))", False),
    ],
)
def test_base_scope_and_filter_must_be_equal(base: str, scope: str, filter_: str, answered: bool) -> None:  # noqa: FBT001  a table
    assert read().answers(base, scope, filter_) is answered


@pytest.mark.parametrize("scope", ["", "7", "two"])
def test_an_invalid_scope_holds_nothing(scope: str) -> None:
    search = read(TEXT.replace("vlvScope: 2", f"vlvScope: {scope}"))
    assert not any(search.answers(search.base, each, search.filter) for each in ("base", "one", "sub"))


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        ("-uidNumber cn", True), ("-UIDNUMBER CN", True), ("uidNumber cn", False), ("-uidNumber", False),
        ("-uidNumber cn sn", False), ("cn -uidNumber", False), ("", False),
    ],
)  # fmt: skip
def test_all_sort_keys_and_directions_must_be_equal(keys: str, found: bool) -> None:  # noqa: FBT001  a table
    assert (read().ordered(keys) is not None) is found

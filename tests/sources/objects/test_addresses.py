"""Addresses of objects: what they name, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.errors import UsageError
from ldapdiag.sources.objects.addresses import ObjectAddress, object_address

SEGMENT = st.text("abc.-_0", min_size=1, max_size=5)


@pytest.mark.parametrize(
    "named", ["access", "/var/log/access", "ldap://ds1", "ssh://ds1/var/log", "local:", "a:b", "-"]
)
def test_paths_and_live_targets_are_no_addresses(named: str) -> None:
    assert object_address(named) is None


@pytest.mark.parametrize(
    "named", ["s3://key:secret@bucket/access", "s3://bucket?versionId=1", "s3:///access", "s3://", "az://me@c/x"]
)
def test_credentials_and_addresses_without_bucket_are_refused(named: str) -> None:
    with pytest.raises(UsageError) as raised:
        object_address(named)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("key", "named", "others"),
    [
        ("ds1/access", ["ds1/access", "ds1/access/x"], ["ds1/access.1", "ds10/access"]),
        ("ds1/", ["ds1/access", "ds1/a/b"], ["ds10/access", "ds1"]),
        ("", ["access", "a/b"], []),
        ("ds*/access*", ["ds1/access", "ds2/access.1.gz"], ["ds1/x/access", "other/access", "ds1/errors"]),
        ("ds[12]/a?", ["ds1/ab", "ds2/ac"], ["ds3/ab", "ds1/abc"]),
    ],
)
def test_prefixes_and_patterns(key: str, named: list[str], others: list[str]) -> None:
    address = ObjectAddress("s3", "bucket", key)
    assert [one for one in named + others if address.names(one)] == named


@given(st.lists(SEGMENT, min_size=1, max_size=4).map("/".join), st.lists(SEGMENT, min_size=1, max_size=4))
def test_what_is_named_is_below_the_listed_prefix(key: str, pattern: list[str]) -> None:
    """A store is asked for the prefix alone: nothing that an address names may be outside it."""
    address = ObjectAddress("s3", "bucket", "/".join([*pattern[:-1], pattern[-1] + "*"]))
    assert not address.names(key) or key.startswith(address.prefix)

"""Listing: the objects that an address names, in the store that its scheme stands for."""

from __future__ import annotations

from heapq import nsmallest
from itertools import islice
from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import Gap
from ldapdiag.sources.objects.addresses import DIRECT
from ldapdiag.sources.objects.object_file import ObjectFile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.sources.objects.addresses import ObjectAddress
    from ldapdiag.sources.objects.store import Listed, Store

MOST_OBJECTS = 100_000
"""Objects of one address; those with the smallest keys."""


def objects_of(address: ObjectAddress) -> Iterator[ObjectFile | Gap]:
    """Yield the objects that an address names, by key. ObjectError and UsageError propagate to the caller."""
    store = _store_of(type(address)(address.scheme, address.bucket, ""))
    exact = bool(address.key) and not address.is_pattern and not address.key.endswith("/")
    if exact and (found := store.look_up(address.key)) is not None:
        yield _file(address, store, found)
        return
    named = (one for one in store.list(_prefix(address)) if address.names(one.key) and not one.key.endswith("/"))
    several = nsmallest(MOST_OBJECTS, islice(named, 10 * MOST_OBJECTS), key=lambda one: one.key)
    if not several:
        reason = "there is no such object" if exact else "no object matches"
        yield Gap(target=address.url_of(address.key), reason=reason, how="check the spelling of bucket and key")
    elif len(several) == MOST_OBJECTS:
        reason = f"it has {MOST_OBJECTS:,} objects or more: only the first {MOST_OBJECTS:,} are read"
        yield Gap(target=address.url_of(address.key), reason=reason, how="name a longer prefix, or several")
    yield from (_file(address, store, one) for one in several)


def _prefix(address: ObjectAddress) -> str:
    """Return the prefix to list: all below it may be named by the address."""
    return address.prefix if address.is_pattern or not address.key else address.key.rstrip("/") + "/"


def _file(address: ObjectAddress, store: Store, listed: Listed) -> ObjectFile:
    return ObjectFile(address.url_of(listed.key), store, listed)


def _store_of(bucket: ObjectAddress) -> Store:
    """Return the store of a bucket. Raises UsageError without its library."""
    if bucket.scheme in DIRECT:
        from ldapdiag.sources.objects.obstore_store import ObstoreStore  # noqa: PLC0415  an extra, imported late

        return ObstoreStore(bucket)
    from ldapdiag.sources.objects.fsspec_store import FsspecStore  # noqa: PLC0415  as above

    return FsspecStore(bucket)

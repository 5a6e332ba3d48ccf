"""Addresses of objects: s3://BUCKET/KEY, s3://BUCKET/PREFIX/ and s3://BUCKET/access*, and the same of other stores.

An address with a user, a password or a query is refused: credentials have no place on a command line.
"""

from __future__ import annotations

import re
from fnmatch import translate

from ldapdiag.errors import UsageError
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

URL = pattern(r"([a-z][a-z0-9+.-]{1,30})://(.*)", re.DOTALL)
TARGETS = frozenset({"ldap", "ldaps", "ldapi", "ssh", "local", "netns"})
"""Schemes that name live targets (sources.targets)."""
DIRECT = frozenset({"s3", "gs", "az"})
"""Schemes that obstore reads; fsspec reads the others."""
MAGIC = pattern(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class ObjectAddress:
    """What the operator named in an object store: one object, all below a prefix, or those that match a pattern."""

    scheme: str
    bucket: str
    """The bucket or the container; the host of other stores."""
    key: str
    """Without the slash at its beginning; it may end with one."""

    @property
    def root(self) -> str:
        """Return the URL of the bucket."""
        return f"{self.scheme}://{self.bucket}"

    @property
    def prefix(self) -> str:
        """Return the beginning of the keys, up to a slash, below which all that it names is found."""
        fixed = MAGIC.split(self.key, maxsplit=1)[0]
        return fixed[: fixed.rfind("/") + 1]

    @property
    def is_pattern(self) -> bool:
        """Return whether it has wildcards."""
        return MAGIC.search(self.key) is not None

    def url_of(self, key: str) -> str:
        """Return the URL of an object in the same bucket."""
        return f"{self.root}/{key}"

    def names(self, key: str) -> bool:
        """Return whether an object is among what it names; a wildcard matches no slash, as in a shell."""
        if self.is_pattern:
            parts, own = key.split("/"), self.key.split("/")
            return len(parts) == len(own) and all(
                re.fullmatch(translate(pattern), part) for pattern, part in zip(own, parts, strict=True)
            )
        return key == self.key or not self.key or key.startswith(self.key.rstrip("/") + "/")


def object_address(named: str) -> ObjectAddress | None:
    """Return the address in an argument; None for a path or a live target. Raises UsageError for an unusable one."""
    found = URL.fullmatch(named) if "://" in named else None
    if found is None or found[1] in TARGETS:
        return None
    scheme, (bucket, _, key) = found[1], found[2].partition("/")
    if "@" in bucket or (scheme in DIRECT and ("?" in bucket or "#" in bucket)):
        raise UsageError(
            f"{scheme}://…: a user, a password or a query in the address; "
            "credentials come from the environment, a profile or the identity of the machine"
        )
    if not bucket and scheme in DIRECT:
        raise UsageError(f"{scheme}://: no bucket; use {scheme}://BUCKET/KEY or {scheme}://BUCKET/PREFIX/")
    return ObjectAddress(scheme, bucket, key)

"""Short names of accounts: the first RDN of a DN, where no other account has the same one.

uid=quickr,ou=services,dc=example,dc=com      uid=quickr
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

FIRST_PART = re.compile(r"(?>(?:[^,\\]|\\.)+)", re.DOTALL)


SENDERS = 3
"""Named of one row."""


def senders(askers: Sequence[Mapping[str, Any]]) -> str:
    """Return who sent operations (`askers` of the report), as in `uid=app,dc=example (192.0.2.7) and 2 more`."""
    names = [f"{one['account'] or 'anonymous'} ({one['client'] or 'unknown client'})" for one in askers]
    more = f" and {len(names) - SENDERS:,} more" if len(names) > SENDERS else ""
    return f"{'; '.join(names[:SENDERS])}{more}"


class AccountNames:
    """The short names of a log's accounts."""

    def __init__(self, accounts: Iterable[str]) -> None:
        self._seen = Counter(first_part(account) for account in accounts)

    def __call__(self, account: str) -> str:
        """Return the first RDN of an account, or the whole DN where that is ambiguous."""
        short = first_part(account)
        return short if self._seen[short] <= 1 else account


def first_part(dn: str) -> str:
    """Return the first RDN (RFC 4514) of a DN; any other text as far as it looks like one."""
    found = FIRST_PART.match(dn)
    return found[0] if found else dn

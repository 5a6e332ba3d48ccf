"""The formats of access logs, by which `diagnose` recognises them; their grammars are in evidence/log/.

    [20/Nov/2026:08:45:20.751921248 +0000] conn=1 fd=64 slot=64 connection from 127.0.0.11 to 127.0.0.1
    [20/Nov/2026:08:58:03 +0000] CONNECT conn=0 from=127.0.0.11:60305 to=127.0.0.1:13489 protocol=LDAP

A server's log may be many files, whose order only their records show, so these formats have no `read`:
`sources/recognition/log_discovery.py` reads access logs. slapd has a single log, which slapd.py reads as well.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.log.dialects import NOTICES, dialects, recognise
from ldapdiag.evidence.server_log_formats import slapd

if TYPE_CHECKING:
    from collections.abc import Callable

    from ldapdiag.evidence.log.dialect import Dialect

ACCESS = tuple(dialect for dialect in dialects() if dialect.name != NOTICES)
"""The dialects of access logs. An errors log of 389-ds also contains some searches, but ds389_errors.py reads it."""


@lru_cache(maxsize=1)
def dialect_of(head: Head) -> Dialect | None:
    """Return the dialect of the access log with this head, or None."""
    start = "".join(f"{line}\n" for line in head.lines).encode()
    return recognise(start, notices=False)


def is_access(head: Head) -> bool:
    """Return whether this is an access log only, which slapd's log is not."""
    dialect = dialect_of(head)
    return dialect is not None and dialect.family is not Family.OPENLDAP


def _recognises(dialect: Dialect) -> Callable[[Head], bool]:
    def recognises(head: Head) -> bool:
        return dialect_of(head) is dialect

    return recognises


def _format(name: str, family: Family, recognises: Callable[[Head], bool]) -> Format:
    return Format(name=name, title=f"an access log of {family.product}", recognises=recognises, read=None)


def _is_bare_openldap(head: Head) -> bool:
    """Return whether this is a slapd log of operations only, with a prefix that slapd.py does not recognise."""
    dialect = dialect_of(head)
    return dialect is not None and dialect.family is Family.OPENLDAP and not slapd.recognises(head)


FORMATS = (
    *(
        _format(dialect.name, dialect.family, _recognises(dialect))
        for dialect in ACCESS
        if dialect.family is not Family.OPENLDAP
    ),
    _format("openldap-access", Family.OPENLDAP, _is_bare_openldap),
)
LOGS = frozenset({slapd.FORMAT.name, *(form.name for form in FORMATS)})
"""The names of the formats whose files are access logs."""

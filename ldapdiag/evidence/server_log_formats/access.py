"""Access logs: the door through which a diagnosis learns of them. Their grammars are the dialects of evidence/log/.

    [20/Nov/2026:08:45:20.751921248 +0000] conn=1 fd=64 slot=64 connection from 127.0.0.11 to 127.0.0.1
    [20/Nov/2026:08:58:03 +0000] CONNECT conn=0 from=127.0.0.11:60305 to=127.0.0.1:13489 protocol=LDAP

One server's log may be many files, whose order only their records tell, so no Format reads one: `log_discovery.py`
does. slapd has one log for everything, which slapd.py reads as well, for what it testifies to.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.log import ds389_notice
from ldapdiag.evidence.log.dialects import dialects
from ldapdiag.evidence.server_log_formats import slapd

if TYPE_CHECKING:
    from collections.abc import Callable

    from ldapdiag.evidence.log.dialect import Dialect

ACCESS = tuple(dialect for dialect in dialects() if dialect.name != ds389_notice.NAME)
"""An errors log of 389-ds tells of some searches, too, and is none: ds389_errors.py reads it."""


@lru_cache(maxsize=1)
def dialect_of(head: Head) -> Dialect | None:
    """Return the dialect of the access log that begins so, or None."""
    start = "".join(f"{line}\n" for line in head.lines).encode()
    return next((dialect for dialect in ACCESS if dialect.recognises(start)), None)


def is_access(head: Head) -> bool:
    """Tell whether this is an access log that is nothing else."""
    dialect = dialect_of(head)
    return dialect is not None and dialect.family is not Family.OPENLDAP


def _recognises(dialect: Dialect) -> Callable[[Head], bool]:
    def recognises(head: Head) -> bool:
        return dialect_of(head) is dialect

    return recognises


def _format(name: str, family: Family, recognises: Callable[[Head], bool]) -> Format:
    return Format(name=name, title=f"an access log of {family.product}", recognises=recognises, read=None)


def _is_bare_openldap(head: Head) -> bool:
    """Tell a log of slapd in which nothing but operations is left, behind what slapd.py takes for no prefix."""
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
"""The formats whose files are access logs."""

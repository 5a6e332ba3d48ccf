"""Who asks a directory, and how, as ldapsearch's options say it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Mechanism(StrEnum):
    """How to bind, by ldapsearch's names; SIMPLE without a DN is anonymous."""

    SIMPLE = "SIMPLE"
    EXTERNAL = "EXTERNAL"
    GSSAPI = "GSSAPI"


class StartTls(StrEnum):
    """Whether to ask for TLS on a plain port: not, and go on without it (-Z), or go on with it alone (-ZZ)."""

    NO = "no"
    TRY = "try"
    MUST = "must"


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """A bind, and what must be true of the connection before it."""

    dn: str = ""
    password: str = field(default="", repr=False)
    mechanism: Mechanism = Mechanism.SIMPLE
    start_tls: StartTls = StartTls.NO
    """After a failed TRY we go on in clear text, but for a password: that is never sent then."""
    ca_file: str | None = None
    insecure: bool = False
    """Believe any certificate."""

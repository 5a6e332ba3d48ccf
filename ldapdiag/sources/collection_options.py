"""Collection options: how evidence is collected from live targets, as set on the command line."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum

from ldapdiag.lazy_dataclass import dataclass


class Mechanism(StrEnum):
    """Bind mechanisms, by their names in ldapsearch(1). SIMPLE without a DN is an anonymous bind."""

    SIMPLE = "SIMPLE"
    EXTERNAL = "EXTERNAL"
    GSSAPI = "GSSAPI"


class StartTls(StrEnum):
    """Use of StartTLS on a plain port: never; optional (-Z); required (-ZZ)."""

    NO = "no"
    TRY = "try"
    MUST = "must"


@dataclass(frozen=True, slots=True, kw_only=True)
class BindOptions:
    """Credentials of a bind, and the TLS that its connection needs first."""

    dn: str = ""
    password: str = field(default="", repr=False)
    password_file: str = ""
    """The file that contains the password and nothing else; empty: it was typed, or a newline follows it in the file.

    OpenLDAP's tools send the newline at the end of the file of -y as a part of the password.
    """
    mechanism: Mechanism = Mechanism.SIMPLE
    start_tls: StartTls = StartTls.NO
    """After a failed TRY the session continues in clear text, but never sends a password."""
    ca_file: str | None = None
    insecure: bool = False
    """Accept any certificate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionOptions:
    """Options that apply to all targets of a run."""

    bind: BindOptions = field(default_factory=BindOptions)
    sudo: bool = False
    timeout_seconds: int = 10
    """Time limit per target: for the first collection, for each later snapshot, and for the access logs.

    It holds for the whole step, whatever the target sends and however it sends it."""
    sample_interval_seconds: float = 4.0
    """Time between the two snapshots of a server."""
    probe_answers: bool = False
    """Compare the answers of the indexes of LDAP targets with entries, which searches the data of users."""
    logs: bool = False
    """Collect the access logs of the directory servers on the hosts, too."""
    logs_alone: bool = False
    """Of a host with an access log, keep nothing else."""
    ldap_ports: frozenset[int] = frozenset()
    typed: str = ""
    """The evidence and the options that reached it, as words of a shell: by them another command reads the same."""

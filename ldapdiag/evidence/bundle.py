"""Bundle: all facts of a run, and what could not be collected or read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from ldapdiag.evidence.cluster_work import ClusterWork
    from ldapdiag.evidence.host_facts import EventThresholds


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A target whose evidence could not be collected or read, the reason, and what to do."""

    target: str
    reason: str
    how: str | None = None
    files: int = 0
    """How many files of evidence it stands for, where that is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedOver:
    """A file without evidence for a diagnosis, or a folder that is not followed; it is listed, and no gap."""

    target: str
    reason: str
    files: int = 0
    """How many files of evidence it contains, as far as its first files were looked at."""
    thresholds: EventThresholds | None = None
    """With which the log beside it was written, where it says that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A fact that is missing for a host, a server or the whole run, the reason, and how to collect the evidence."""

    reason: str
    host: str = ""
    """A host, or a server by its name; empty: the whole run."""
    lacks: tuple[str, ...] = ()
    """The kinds of evidence that are missing."""
    how: str | None = None
    crashed: bool = False
    """The provider of the fact crashed; the checks that need the fact are reported as crashed, too."""
    inapplicable: bool = False
    """The host is of a kind that never has this fact; the checks that need the fact are about other hosts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """The result of a collection: facts, gaps and ignored files."""

    facts: tuple[Any, ...] = ()
    """Each an evidence.origin.Fact."""
    gaps: tuple[Gap, ...] = ()
    passed_over: tuple[PassedOver, ...] = ()
    ldap_ports: frozenset[int] = frozenset()
    """Additional LDAP ports, from the command line."""
    named: frozenset[str] = frozenset()
    """Hosts and LDAP URLs that the operator named, as targets or in ldapdiag.toml; what evidence says is not there."""
    cluster: ClusterWork | None = None
    """The work of the cluster that read the access logs; None: they were read here."""

    @property
    def inputs(self) -> tuple[Any, ...]:
        """Return one fact of each kind and input, in their order: a list of files yields a fact for each of them."""
        return tuple({(fact.kind, fact.origin): fact for fact in self.facts}.values())

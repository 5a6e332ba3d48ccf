"""Traffic: all access logs of one server, combined."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.log.workload import Workload
from ldapdiag.analysis.providers import provides
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.addresses import normalise_address
from ldapdiag.evidence.bundle import Missing
from ldapdiag.evidence.log.combine import combine
from ldapdiag.evidence.log.segment import Segment
from ldapdiag.evidence.log.stamps import MILLISECOND, SECOND
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.traits import traits_of

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """The work of one server during its access logs."""

    kind: ClassVar[str] = "traffic"
    how: ClassVar[str] = AccessLog.how

    server: str
    """The server, by the name of its instance."""
    workload: Workload
    origins: tuple[str, ...]

    @property
    def segment(self) -> Segment:
        """Return the combined counts."""
        return self.workload.segment

    @property
    def seconds(self) -> float:
        """Return the time between the first record and the last, without those with a time far from all others."""
        first, last = self.workload.period or (0, 0)
        return (last - first) / SECOND

    @property
    def timed_waits(self) -> int:
        """Return for how many operations the log shows the wait for a worker thread."""
        return sum(self.workload.waits.values())

    def waited_at_least(self, nanoseconds: int) -> int:
        """Return how many operations certainly waited at least this long, in nanoseconds."""
        return self.workload.waits.at_least(nanoseconds)

    @property
    def lines_in_doubt(self) -> int:
        """Return how many lines of the logs are known to be lost, or were not understood."""
        missing = self.segment.holes if traits_of(self.workload.family).numbers_connections else 0
        return self.segment.lost + self.segment.misread + missing

    def longest_idle_seconds(self) -> dict[str, float]:
        """Return, per client address, the longest idle time (LDAP) in seconds that a request ended; a lower bound.

        Between two time stamps of whole seconds up to one second less may have passed.
        """
        idle_times: dict[str, float] = {}
        rounding = self.segment.resolution if self.segment.resolution >= SECOND else 0
        for client in self.workload.clients:
            address, longest = normalise_address(client.address), client.idle_times.longest[0] - rounding
            if longest > 0:
                idle_times[address] = max(idle_times.get(address, 0.0), longest // MILLISECOND / 1000)
        return idle_times


@provides(Traffic)
def combine_logs(server: Instance) -> Traffic | Missing:
    """Combine a server's access logs; close codes of several products keep the meaning they share."""
    if (inapplicable := server.not_a_directory) is not None:
        return inapplicable
    logs = server.access_logs
    if not logs:
        return Missing(
            host=server.name,
            reason=f"no access log of {server.name}",
            lacks=(AccessLog.kind,),
            how=AccessLog.how,
        )
    families = {log.family for log in logs}
    return Traffic(
        server=server.name,
        workload=Workload(_combined(logs), families.pop() if len(families) == 1 else None),
        origins=tuple(sorted(log.origin.path for log in logs)),
    )


def _combined(logs: Sequence[AccessLog]) -> Segment:
    """Return one Segment of all logs; the logs' own are not changed."""
    if len(logs) == 1:
        return logs[0].segment
    return combine(Segment(), *(log.segment.copied() for log in logs))

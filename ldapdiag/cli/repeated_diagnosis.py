"""The diagnosis that a live view repeats: with what its followed logs have counted, and recorded in a history.

Between two diagnoses the tables of the hosts alone are read again, and joined as the diagnosis joins them.
"""

from __future__ import annotations

import gc
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ldapdiag.cli.diagnose import Recording, earlier_runs, record_run
from ldapdiag.cli.judging import collected_again, exit_code, report_of
from ldapdiag.errors import LdapdiagError
from ldapdiag.evidence.flows import FlowTable
from ldapdiag.evidence.host_facts import HostDescription
from ldapdiag.evidence.sockets import SocketTable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from threading import Event

    from ldapdiag.cli.judging_options import Judging
    from ldapdiag.diagnosis import Diagnosis
    from ldapdiag.evidence.bundle import Bundle
    from ldapdiag.evidence.origin import Fact
    from ldapdiag.live_view.socket_look import SocketLook
    from ldapdiag.sources.collection_options import CollectionOptions
    from ldapdiag.sources.live.socket_watch import SocketWatch
    from ldapdiag.sources.logs.log_watch import LogWatch

WAIT_SECONDS = 0.2
PART_OF_WAITING = 0.25
"""Of the time that tables take, that a host spends on them at most: read in three turns, most of it is waiting."""


class RepeatedDiagnosis:
    """Collects and judges each time that it is asked to, and records that."""

    def __init__(
        self,
        evidence: list[str],
        asked: Judging,
        options: CollectionOptions,
        stop: Event,
        recording: Recording,
        logs: Sequence[LogWatch],
    ) -> None:
        """Raise LdapdiagError for a file in which nothing can be recorded."""
        self.say: Callable[[str], None] = print
        self._collecting = {"bind": options.bind, "ldap_ports": options.ldap_ports}
        self._evidence, self._asked, self._stop, self._recording = evidence, asked, stop, recording
        self._logs = logs
        self._earlier = earlier_runs(recording.record, [])
        self._last: tuple[Bundle, int] | None = None
        """The evidence of the last diagnosis but for its tables, and the number of its servers."""

    def next(self) -> Mapping[str, Any]:
        """Collect and judge once. Raises LdapdiagError."""
        asked, stop = self._asked, self._stop
        try:
            said = "no target answered"
            diagnosis = collected_again(
                self._evidence, asked, stop, self._collecting, said, self._followed, self._earlier
            )
            if self._recording.record is not None and not stop.is_set():
                self._record(self._recording.record, diagnosis)
            report = report_of(diagnosis)()
            others = tuple(one for one in diagnosis.bundle.facts if not isinstance(one, SocketTable | FlowTable))
            self._last = replace(diagnosis.bundle, facts=others, gaps=()), len(report["servers"])
            return report
        finally:
            gc.collect()  # the program postpones it, for runs of seconds: here 0.3 MB of each diagnosis would stay

    def sockets(self, watch: SocketWatch) -> SocketLook:
        """Read the tables of the hosts, and join them beside all else of the last diagnosis. Raises LdapdiagError.

        Without a diagnosis it waits for the first one: by its evidence the hosts and servers are known.
        """
        from ldapdiag.diagnosis import diagnose  # noqa: PLC0415  import late
        from ldapdiag.live_view.socket_look import SocketLook  # noqa: PLC0415

        while self._last is None:
            if self._stop.wait(WAIT_SECONDS):
                raise LdapdiagError("interrupted")
        began, spent = time.monotonic(), time.process_time()
        tables = watch.look()
        bundle, servers = self._last
        described = {one.origin.folder for one in tables.facts if isinstance(one, HostDescription)}
        others = [
            one for one in bundle.facts if not (isinstance(one, HostDescription) and one.origin.folder in described)
        ]
        joined = diagnose(replace(bundle, facts=(*others, *tables.facts)), ())
        pairings = joined.pairings
        # A host is busy for a part of the time that its answers take; one that is silent makes the others no busier.
        waited = 0.0 if tables.gaps else time.monotonic() - began
        seconds = max(time.process_time() - spent, PART_OF_WAITING * waited)
        return SocketLook(pairings, joined.hosts, servers, tables.gaps, seconds)

    def _followed(self) -> Sequence[Fact]:
        from ldapdiag.sources.recognition.log_discovery import access_logs  # noqa: PLC0415  import late

        # Of two names of one server each follows its log, perhaps by two names, too.
        logs = {one.names: one.counted for one in self._logs}
        return tuple(access_logs([log for counted in logs.values() for log in counted]))

    def _record(self, file: Path, diagnosis: Diagnosis) -> None:
        code = exit_code(diagnosis, self._asked.gate)
        try:
            run = record_run(file, diagnosis, code, self._recording, interrupted=False)
        except LdapdiagError as error:
            self.say(str(error))
        else:
            if self._earlier is not None:
                self._earlier = replace(self._earlier, runs=(*self._earlier.runs, run))
            else:
                self._earlier = earlier_runs(file, [])

"""The diagnosis that a live view repeats: with what its followed logs have counted, and recorded in a history."""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ldapdiag.cli.diagnose import Recording, earlier_runs, record_run
from ldapdiag.cli.judging import collected_again, exit_code, report_of
from ldapdiag.errors import LdapdiagError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from threading import Event

    from ldapdiag.cli.judging_options import Judging
    from ldapdiag.diagnosis import Diagnosis
    from ldapdiag.evidence.origin import Fact
    from ldapdiag.sources.collection_options import CollectionOptions
    from ldapdiag.sources.logs.log_watch import LogWatch


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
            return report_of(diagnosis)()
        finally:
            gc.collect()  # the program postpones it, for runs of seconds: here 0.3 MB of each diagnosis would stay

    def _followed(self) -> Sequence[Fact]:
        from ldapdiag.sources.recognition.log_discovery import access_logs  # noqa: PLC0415  import late

        return tuple(access_logs([log for one in self._logs for log in one.counted]))

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

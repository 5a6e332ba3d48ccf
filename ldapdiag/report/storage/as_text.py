"""The report of `ldapdiag storage` as text: what a power cut would lose, then each server's volumes on one screen.

    ldap        OpenLDAP 2.5.13
    volume      /var/lib/ldap · ext4 on /dev/vda1 · database
    options     barrier data=ordered relatime commit=5
    disks       vda · write cache: taken for volatile
    space       12.1 of 19.5 GiB free (62 %)
    extents     data.mdb 14 in 4.00 MiB
    settings    olcDbNoSync FALSE (default): each change waits for the disk (2 flushes)
    not known   sync time of /var/lib/ldap: ldapdiag storage --probe /var/lib/ldap

The commands that the worst finding asks for follow the servers, then the other findings.

Words about the small files of a probe: how fast they are made and read, and what reading them writes.

The rows about one volume, each with its label: options in force, disks, what is beneath, space, extents, sync.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.storage.commit_waits import probe_of
from ldapdiag.analysis.storage.server_storage import ServerStorage
from ldapdiag.evidence.storage.probe import AccessTimeUpdates, FileOperation, StorageProbe, SyncCall, WriteKind
from ldapdiag.finding import Clear, Severity
from ldapdiag.report.charts.probe import probe_charts
from ldapdiag.report.charts.terminal_charts import bar_rows
from ldapdiag.report.color import Color
from ldapdiag.report.common_parts import ReportScreen, hint_for
from ldapdiag.report.findings import (
    FIRST,
    STYLES,
    TITLE,
    labelled,
    print_explanation,
    print_remedy,
    step_parts,
)
from ldapdiag.report.head import print_head
from ldapdiag.report.page import page_for
from ldapdiag.report.storage.as_data import probe_values, unknowns
from ldapdiag.report.storage.rows import MARK, durability_words, option_words, stack_words, words_of_lost_flushes
from ldapdiag.servers.volumes.storage_rules import Window
from ldapdiag.wording import counted, duration, number, size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ldapdiag.analysis.storage.volume import Volume
    from ldapdiag.diagnosis import Diagnosis
    from ldapdiag.evidence.family import Family
    from ldapdiag.evidence.storage import FileExtents, Space
    from ldapdiag.evidence.storage.probe import AccessTimes
    from ldapdiag.report.headline import FirstStep, Headline
    from ldapdiag.servers.volumes.storage_rules import Durability

UNKNOWNS, CLEAR, SETTINGS = 4, 8, 4
"""Texts of one kind without -v."""
LINES_CLEAR = 3
"""Lines of a reason without -v."""
WHY = 3
"""Lines of the explanation at the head, without -v."""
IN_FULL = 3
"""Findings with explanation and commands, without -v; further ones have their titles."""


def print_storage(
    diagnosis: Diagnosis,
    stream: TextIO,
    *,
    verbose: bool = False,
    color: Color = Color.AUTO,
    at_least: Severity = Severity.INFO,
) -> None:
    """Write the report, with the findings of a severity and above."""
    StorageScreen(page_for(stream, color), diagnosis, verbose=verbose, at_least=at_least).show()


class StorageScreen(ReportScreen):
    """The report, printed part by part."""

    __slots__ = ()

    def body(self, first: Headline | None, step: FirstStep | None) -> None:
        """Print the head, each server's volumes, probes, what is clear, and what to do."""
        self.head(first, step)
        for server in self.diagnosis.facts.every(ServerStorage):
            self.server(server)
        self.probes()
        self.settled()
        self.remedies(first)
        self.findings(first, step)

    def head(self, first: Headline | None, step: FirstStep | None) -> None:
        """Print the worst finding and the first step, without commands: the volumes are to be on the same screen."""
        if first is None:
            return
        finding = first.finding
        if finding is None:
            print_head(self.page, self.diagnosis, first, step, verbose=self.verbose)
            return
        most = None if self.verbose else TITLE
        self.page.labelled(first.label, first.text, STYLES[finding.severity], "bold", most=most)
        hidden = print_explanation(self.page, finding, verbose=self.verbose, most=WHY)
        more = [f"-v shows {counted(hidden, 'more line')}"] if hidden else []
        self.page.indented(" · ".join([first.check, str(finding.confidence), *more]), "dim")
        if finding.acceptance is not None:
            self.page.indented(str(finding.acceptance), "bold")
        if self.verbose:
            self.page.indented(f"from {', '.join(finding.origins)}", "dim")
        if step is not None:
            below = ["commands below"] if step.remedy and step.remedy.kind != "advice" else []
            self.page.packed(FIRST, [*step_parts(step), *below], "bold", "bold", most=most)
        self.page.blank()

    def server(self, storage: ServerStorage) -> None:
        """Print the volumes and the settings of one server, and what is not known."""
        instance = self.diagnosis.facts.of(Instance, storage.server)
        self.page.packed(storage.server, [instance.description if instance else "directory server"], "bold", "bold")
        probed = set()
        for volume in storage.volumes:
            probe = probe_of(volume, self.diagnosis.facts.every(StorageProbe))
            probed |= {volume.mount_point} if probe else set()
            for label, parts in volume_rows(volume, probe, verbose=self.verbose):
                self.page.packed(label, parts, "bold" if label == "volume" else "")
        self.settings(storage)
        self.unknown(storage, frozenset(probed), instance.family if instance else None)
        self.page.blank()

    def settings(self, storage: ServerStorage) -> None:
        """Print what each setting means for acknowledged changes."""
        shown = storage.durability if self.verbose else storage.durability[:SETTINGS]
        several = len({one.backend for one in storage.durability}) > 1
        cut = words_of_lost_flushes(storage)
        self.page.listed("settings", (_setting(one, cut, several=several) for one in shown), "")
        if len(storage.durability) > len(shown):
            self.page.indented(f"and {len(storage.durability) - len(shown)} more (-v shows them)")

    def unknown(self, storage: ServerStorage, probed: frozenset[str], family: Family | None) -> None:
        """Print what the evidence does not show, with the command that shows it."""
        found = unknowns(storage, probed)
        shown = found if self.verbose else found[:UNKNOWNS]
        for place, one in enumerate(shown):
            how = hint_for(one.how, {family} if family else ())
            self.page.packed("" if place else "not known", filter(None, [one.what, how]), "")
        if len(found) > len(shown):
            self.page.indented(f"and {len(found) - len(shown)} more (-v shows them)")

    def probes(self) -> None:
        """Print the charts of each probe; of a volume that no server is known to use, the numbers as well."""
        probes = self.diagnosis.facts.every(StorageProbe)
        volumes = [volume for one in self.diagnosis.facts.every(ServerStorage) for volume in one.volumes]
        used = {probe.origin.path for volume in volumes if (probe := probe_of(volume, probes))}
        for probe in probes:
            about = f"{probe.fs_type or 'file system'} at {probe.mount_point}" if probe.mount_point else ""
            numbers = () if probe.origin.path in used else sync_parts(probe, verbose=self.verbose)
            self.page.packed("probe", [*filter(None, [probe.directory, about]), *numbers], "bold")
            for chart in probe_charts(probe_values(probe)):
                unit = "" if chart.unit in chart.title.lower() else f" ({chart.unit})"
                self.page.indented(f"{chart.title}{unit}")
                for row in bar_rows(chart, self.page.room, verbose=self.verbose):
                    self.page.row(row)
            for line in file_words(probe):
                self.page.indented(line)
            self.page.blank()

    def settled(self) -> None:
        """Print what each check found in order, or where there is nothing to gain; without -v each reason once."""
        clear = [(one.check, one.verdict) for one in self.diagnosis.judged if isinstance(one.verdict, Clear)]
        once = dict.fromkeys(f"{check}: {verdict.reason}" for check, verdict in clear)
        full = [f"{verdict.subject}: {verdict.reason}  ({check})" for check, verdict in clear]
        reasons = full if self.verbose else list(once)
        shown = reasons if self.verbose else reasons[:CLEAR]
        for place, reason in enumerate(shown):
            self.page.labelled("" if place else "clear", reason, "green", most=None if self.verbose else LINES_CLEAR)
        if len(reasons) > len(shown):
            self.page.indented(f"and {len(reasons) - len(shown)} more (-v shows them)")
        if reasons:
            self.page.blank()

    def remedies(self, first: Headline | None) -> None:
        """Print what to do about the finding at the head, with the commands."""
        if first is None or first.finding is None or not first.finding.remedies:
            return
        self.page.labelled("what to do", f"about {first.check}", "bold", "bold")
        for label, remedy in labelled(first.finding.remedies):
            print_remedy(self.page, label, remedy, verbose=self.verbose)
        self.page.blank()

    def findings(self, first: Headline | None, step: FirstStep | None) -> None:
        """Print the other findings; beyond a few their titles alone."""
        for place, (check, finding) in enumerate(self.others(first)):
            self.finding(check, finding, step, brief=not self.verbose and place >= IN_FULL)


def _setting(one: Durability, lost_flushes: str, *, several: bool) -> str:
    """Return a setting with its value and what it means; `lost_flushes`: because of what a flush does not."""
    name = f"{one.backend}: {one.setting}" if several and one.backend else one.setting
    value = f" {one.value}" if one.value else ""
    by = " (default)" if one.is_default else ""
    flushes = one.effective and not one.loss and one.window is Window.NONE
    but = f", but {lost_flushes} makes the flush ineffective" if flushes and lost_flushes else ""
    return f"{name}{value}{by}: {durability_words(one)}{but}"


DONE = {FileOperation.CREATE: "created", FileOperation.READ: "read", FileOperation.UNLINK: "unlinked"}


def file_words(probe: StorageProbe) -> Iterator[str]:
    """Yield a line about the files, and one about their access times, where they were measured."""
    if probe.files:
        rates = (f"{number(round(one.per_second))} {DONE[one.operation]}" for one in probe.files)
        yield f"Small files per second, without sync: {', '.join(rates)}"
    if probe.access_times:
        yield f"Access times: {_access_words(probe.access_times)}"


def _access_words(access: AccessTimes) -> str:
    """Return when a read changes the access time, and what that costs where it happens at each read."""
    match access.updates:
        case AccessTimeUpdates.FIRST_READ:
            return "only the first read after a change sets them (relatime); nothing to gain with noatime"
        case AccessTimeUpdates.NEVER:
            return "reads do not change them (noatime)"
        case AccessTimeUpdates.EACH_READ:
            return f"each read sets them (strictatime){_cost(access)}"


def _cost(access: AccessTimes) -> str:
    if not access.without_seconds or not access.again_seconds:
        return ""
    rates = (number(round(access.files / seconds)) for seconds in (access.again_seconds, access.without_seconds))
    return "; {} reads/s of files in memory, {} without".format(*rates)


Row = tuple[str, list[str]]
"""A label, and the parts behind it."""

FEW = 1
"""Files named with their extents, without -v."""
WRITE_CACHES = {
    "volatile assumed": "write cache assumed volatile",
    "none": "the kernel flushes no write cache",
    None: "write cache unknown",
}


def volume_rows(volume: Volume, probe: StorageProbe | None, *, verbose: bool) -> Iterator[Row]:
    """Yield the rows about a volume; of one with access logs alone only the first, without -v."""
    roles = ", ".join(dict.fromkeys(map(str, volume.roles)))
    yield "volume", [volume.mount_point, f"{volume.fs_type} on {volume.source}", roles]
    if not volume.lasting_paths and not verbose:
        return
    if words := _options(volume):
        yield "options", words
    yield "disks", list(_disks(volume))
    for one in volume.beneath:
        yield "beneath", [one.mount_point, f"{one.fs_type} on {one.source}", *_options(one)]
    if volume.space is not None:
        yield "space", [_space(volume.space)]
    if volume.extents:
        yield "extents", _extents(volume.extents, verbose=verbose)
    if probe is not None:
        yield "sync", list(sync_parts(probe, verbose=verbose))


def _options(volume: Volume) -> list[str]:
    """Return the options in force; those that mount does not show are marked, and the mark is explained."""
    hidden = set(volume.options.hidden)
    words = [f"{word} {MARK}" if word in hidden else word for word in option_words(volume.options)]
    if not words:
        return []
    shown = [" ".join(words)]
    return [*shown, f"{MARK} mount does not show it: it is a default in the superblock"] if hidden else shown


def _disks(volume: Volume) -> Iterator[str]:
    if stack := stack_words(volume.stack, volume.devices):
        yield stack
    elif not volume.in_memory:
        yield "unknown"
    if volume.in_memory:
        yield f"in memory ({volume.in_memory}): nothing survives a restart"
    else:
        yield WRITE_CACHES.get(volume.write_cache, f"write cache {volume.write_cache}")


def _space(space: Space) -> str:
    if space.free_bytes is None or not space.total_bytes:
        return "unknown"
    return (
        f"{size(space.free_bytes)} of {size(space.total_bytes)} free ({100 * space.free_bytes // space.total_bytes} %)"
    )


def _extents(files: Sequence[FileExtents], *, verbose: bool) -> list[str]:
    """Return the files in the most pieces, and how many others there are; of none that is known, why."""
    known = sorted((one for one in files if one.extents is not None), key=lambda one: (-(one.extents or 0), one.path))
    if not known:
        reason = next((one.unsupported for one in files if one.unsupported), "")
        return [f"unknown{f': {reason}' if reason else ''}"]
    shown = known if verbose else known[:FEW]
    parts = [f"{one.path.rpartition('/')[2]} {_pieces(one)}" for one in shown]
    if left := len(known) - len(shown):
        parts.append(f"{counted(left, 'file')} with {number(known[FEW].extents or 0)} or fewer")
    return parts


def _pieces(one: FileExtents) -> str:
    length = one.allocated_bytes or one.bytes
    return f"{number(one.extents or 0)}{f' in {size(length)}' if length else ''}"


def sync_parts(probe: StorageProbe, *, verbose: bool) -> Iterator[str]:
    """Yield the times of a probe that a server is compared with: medians, with -v also the 99th percentiles."""
    for write, call, name in (
        (WriteKind.OVERWRITE, SyncCall.FDATASYNC, "overwrite"),
        (WriteKind.APPEND, SyncCall.FSYNC, "append"),
    ):
        if measured := probe.latency(write, call):
            sync = measured.sync
            most = f" (99 % within {_time(sync.p99_seconds)})" if verbose else ""
            yield f"{name} {_time(sync.p50_seconds)}{most}"
    if best := max(probe.commits, key=lambda one: one.per_second, default=None):
        least = "at least " if best.is_lower_bound else ""
        rate = f"{least}{number(round(best.per_second))} commits/s"
        yield f"{rate} of {counted(best.committers, 'committer')}"
    if probe.is_faster_than_disks:
        yield "faster than any disk: memory, a cache, or no barrier"
    if probe.stopped_because:
        yield f"stopped: {probe.stopped_because}"


def _time(seconds: float) -> str:
    return duration(seconds)

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

from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.storage.probe import (
    FileOperation,
    SyncCall,
    WriteKind,
    is_lower_bound,
)
from ldapdiag.evidence.storage.settings import LASTING
from ldapdiag.report.charts.probe import probe_charts
from ldapdiag.report.charts.terminal_charts import bar_rows
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
from ldapdiag.report.storage.rows import MARK, probe_remarks, setting_words, stack_words
from ldapdiag.report.verdicts import of_outcome, severity_of
from ldapdiag.wording import counted, duration, number, size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ldapdiag.report.headline import FirstStep, Headline

    Plain = Mapping[str, Any]

UNKNOWNS, CLEAR, SETTINGS = 4, 8, 4
"""Texts of one kind without -v."""
LINES_CLEAR = 3
"""Lines of a reason without -v."""
WHY = 3
"""Lines of the explanation at the head, without -v."""
BLOCK = 4096
"""Bytes of the syncs that a server is compared with."""
IN_FULL = 3
"""Findings with explanation and commands, without -v; further ones have their titles."""


class StorageScreen(ReportScreen):
    """The report, printed part by part."""

    __slots__ = ()

    def body(self, first: Headline | None, step: FirstStep | None) -> None:
        """Print the head, each server's volumes, probes, what is clear, and what to do."""
        self.head(first, step)
        for storage in self.document["storage"]:
            self.server(storage)
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
            print_head(self.page, self.document, first, step, verbose=self.verbose)
            return
        most = None if self.verbose else TITLE
        self.page.labelled(first.label, first.text, STYLES[severity_of(finding)], "bold", most=most)
        print_explanation(self.page, finding, verbose=self.verbose, most=WHY)
        if step is not None:
            below = ["commands below"] if step.remedy and step.remedy["kind"] != "advice" else []
            self.page.packed(FIRST, [*step_parts(step), *below], "bold", "bold", most=most)
        self.page.blank()

    def server(self, storage: Plain) -> None:
        """Print the volumes and the settings of one server, and what is not known."""
        server = self.server_row(storage["server"])
        description = server["description"] if server else "directory server"
        self.page.packed(storage["server"], [description], "bold", "bold")
        probes = {(probe["host"], probe["origin"]): probe for probe in self.document["probes"]}
        for volume in storage["volumes"]:
            for label, parts in volume_rows(
                volume, probes.get((storage["host"], volume["probe"])), verbose=self.verbose
            ):
                self.page.packed(label, parts, "bold" if label == "volume" else "")
        self.settings(storage)
        self.unknown(storage)
        self.page.blank()

    def settings(self, storage: Plain) -> None:
        """Print what each setting means for acknowledged changes."""
        settings = storage["settings"]
        shown = settings if self.verbose else settings[:SETTINGS]
        several = len({setting["backend"] for setting in settings}) > 1
        lost_by = storage["flush_lost_by"]
        self.page.listed("settings", (_setting(one, lost_by, several=several) for one in shown), "")
        if len(settings) > len(shown):
            self.page.indented(f"and {len(settings) - len(shown)} more (-v shows them)")

    def unknown(self, storage: Plain) -> None:
        """Print what the evidence does not show, with the command that shows it."""
        found, family = storage["unknown"], self.family_of(storage["server"])
        shown = found if self.verbose else found[:UNKNOWNS]
        for place, one in enumerate(shown):
            how = hint_for(one["how"] or "", {family} if family else ())
            self.page.packed("" if place else "not known", filter(None, [one["what"], how]), "")
        if len(found) > len(shown):
            self.page.indented(f"and {len(found) - len(shown)} more (-v shows them)")

    def probes(self) -> None:
        """Print the charts of each probe; of a volume that no server is known to use, the numbers as well."""
        used = {(one["host"], volume["probe"]) for one in self.document["storage"] for volume in one["volumes"]}
        for probe in self.document["probes"]:
            about = f"{probe['fs_type'] or 'file system'} at {probe['mount_point']}" if probe["mount_point"] else ""
            numbers = () if (probe["host"], probe["origin"]) in used else sync_parts(probe, verbose=self.verbose)
            self.page.packed("probe", [*filter(None, [probe["directory"], about]), *numbers], "bold")
            for chart in probe_charts(probe):
                unit = "" if chart.unit in chart.title.lower() else f" ({chart.unit})"
                self.page.indented(f"{chart.title}{unit}")
                for row in bar_rows(chart, self.page.room, verbose=self.verbose):
                    self.page.row(row)
            for line in file_words(probe):
                self.page.indented(line)
            self.page.blank()

    def settled(self) -> None:
        """Print what each check found in order, or where there is nothing to gain; without -v each reason once."""
        clear = list(of_outcome(self.document, "clear"))
        once = dict.fromkeys(f"{one['check']}: {one['reason']}" for one in clear)
        full = [f"{one['subject']}: {one['reason']}  ({one['check']})" for one in clear]
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
        if first is None or first.finding is None or not first.finding["remedies"]:
            return
        self.page.labelled("what to do", f"about {first.finding['check']}", "bold", "bold")
        for label, remedy in labelled(first.finding["remedies"]):
            print_remedy(self.page, label, remedy, verbose=self.verbose)
        self.page.blank()

    def findings(self, first: Headline | None, step: FirstStep | None) -> None:
        """Print the other findings; beyond a few their titles alone."""
        for place, finding in enumerate(self.others(first)):
            self.finding(finding, step, brief=not self.verbose and place >= IN_FULL)


def _setting(one: Plain, lost_by: str | None, *, several: bool) -> str:
    """Return a setting with its value and what it means; `lost_by`: because of what a flush does not."""
    name = f"{one['backend']}: {one['setting']}" if several and one["backend"] else one["setting"]
    value = f" {one['value']}" if one["value"] else ""
    by = " (default)" if one["is_default"] else ""
    return f"{name}{value}{by}: {setting_words(one, lost_by)}"


DONE = {FileOperation.CREATE: "created", FileOperation.READ: "read", FileOperation.UNLINK: "unlinked"}


def file_words(probe: Plain) -> Iterator[str]:
    """Yield a line about the files, and one about their access times, where they were measured."""
    if probe["files"]:
        rates = (f"{_rate(file['count'], file['seconds'])} {DONE[file['operation']]}" for file in probe["files"])
        yield f"Small files per second, without sync: {', '.join(rates)}"
    if probe["access_times"]:
        yield f"Access times: {_access_words(probe['access_times'])}"


def _access_words(access: Plain) -> str:
    """Return when a read changes the access time of most files, and what that costs where it happens each time."""
    if 2 * access["again_updated"] > access["files"]:
        return f"each read sets them (strictatime){_cost(access)}"
    if 2 * access["first_updated"] > access["files"]:
        return "only the first read after a change sets them (relatime); nothing to gain with noatime"
    return "reads do not change them (noatime)"


def _cost(access: Plain) -> str:
    again, without = access["again_seconds"], access["without_seconds"]
    if not without or not again:
        return ""
    files = access["files"]
    return f"; {_rate(files, again)} reads/s of files in memory, {_rate(files, without)} without"


def _rate(many: int, seconds: float) -> str:
    return number(round(many / seconds if seconds else 0))


Row = tuple[str, list[str]]
"""A label, and the parts behind it."""

FEW = 1
"""Files named with their extents, without -v."""
WRITE_CACHES = {
    "volatile assumed": "write cache assumed volatile",
    "none": "the kernel flushes no write cache",
    None: "write cache unknown",
}


def volume_rows(volume: Plain, probe: Plain | None, *, verbose: bool) -> Iterator[Row]:
    """Yield the rows about a volume; of one with access logs alone only the first, without -v."""
    yield "volume", [volume["mount_point"], f"{volume['fs_type']} on {volume['source']}", ", ".join(volume["roles"])]
    if not verbose and all(path["role"] not in LASTING for path in volume["paths"]):
        return
    if words := _options(volume):
        yield "options", words
    yield "disks", list(_disks(volume))
    for one in volume["beneath"]:
        yield "beneath", [one["mount_point"], f"{one['fs_type']} on {one['source']}", *_options(one)]
    if volume["free_bytes"] is not None and volume["total_bytes"]:
        yield "space", [_space(volume["free_bytes"], volume["total_bytes"])]
    if volume["files"]:
        yield "extents", _extents(volume, verbose=verbose)
    if probe is not None:
        yield "sync", list(sync_parts(probe, verbose=verbose))


def _options(volume: Plain) -> list[str]:
    """Return the options in force; those that mount does not show are marked, and the mark is explained."""
    hidden = set(volume["hidden_options"])
    words = [f"{word} {MARK}" if word in hidden else word for word in volume["options"]]
    if not words:
        return []
    shown = [" ".join(words)]
    return [*shown, f"{MARK} mount does not show it: it is a default in the superblock"] if hidden else shown


def _disks(volume: Plain) -> Iterator[str]:
    if stack := stack_words(volume):
        yield stack
    elif not volume["in_memory"]:
        yield "unknown"
    if volume["in_memory"]:
        yield f"in memory ({volume['in_memory']}): nothing survives a restart"
    else:
        yield WRITE_CACHES.get(volume["write_cache"], f"write cache {volume['write_cache']}")


def _space(free: int, total: int) -> str:
    return f"{size(free)} of {size(total)} free ({100 * free // total} %)"


def _extents(volume: Plain, *, verbose: bool) -> list[str]:
    """Return the files in the most pieces, and how many others there are; of none that is known, why."""
    files = volume["files"]
    known = [file for file in files if file["extents"] is not None]
    if not known:
        reason = next((file["reason"] for file in files if file["reason"]), "")
        return [f"unknown{f': {reason}' if reason else ''}"]
    shown = known if verbose else known[:FEW]
    parts = [f"{one['path'].rpartition('/')[2]} {_pieces(one)}" for one in shown]
    if left := volume["files_known"] - len(shown):
        next_one = known[min(len(shown), len(known) - 1)]
        parts.append(f"{counted(left, 'file')} with {number(next_one['extents'])} or fewer")
    return parts


def _pieces(one: Plain) -> str:
    length = one["allocated_bytes"] or one["bytes"]
    return f"{number(one['extents'])}{f' in {size(length)}' if length else ''}"


def sync_parts(probe: Plain, *, verbose: bool) -> Iterator[str]:
    """Yield the times of a probe that a server is compared with: medians, with -v also the 99th percentiles."""
    syncs = {(one["write"], one["call"], one["block_bytes"]): one["sync"] for one in probe["syncs"]}
    for write, call in ((WriteKind.OVERWRITE, SyncCall.FDATASYNC), (WriteKind.APPEND, SyncCall.FSYNC)):
        if sync := syncs.get((write, call, BLOCK)):
            most = f" (99 % within {duration(sync['p99_seconds'])})" if verbose else ""
            yield f"{write} {duration(sync['p50_seconds'])}{most}"
    rates = (
        (commit["commits"] / commit["seconds"] if commit["seconds"] else 0.0, commit) for commit in probe["commits"]
    )
    if best := max(rates, key=lambda pair: pair[0], default=None):
        rate, one = best
        least = "at least " if is_lower_bound(one["committers"], one["commits"], one["seconds"]) else ""
        yield f"{least}{number(round(rate))} commits/s of {counted(one['committers'], 'committer')}"
    yield from probe_remarks(probe)

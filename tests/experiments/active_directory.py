"""Active Directory: the decision table in each form of export, many events, mixed exports, and Samba's indexes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import log_runs

from evidence.test_active_directory_filters import FORMS as FILTERS
from experiments.notebook import AS_EXPECTED, HOUSE, Experiment
from forest import Events, schema_ldif
from incidents import diagnosed_facts, findings
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.filters import shape
from ldapdiag.evidence.log.operation_kinds import SEARCH
from ldapdiag.sources.gathering import gather
from log.windows_events import EXPORTS, as_csv, as_messages, as_viewer, as_xml, event
from servers.active_directory.test_candidates import CHECKS, ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from log.windows_events import Event

    Form = Callable[[Sequence[Event]], str]

CULTURES = ("en-US", "en-GB", "de-DE", "nl-NL", "ja-JP")
WITH_CULTURE = {"CSV": as_csv, "Export-Csv": as_messages, "Event Viewer": as_viewer}
FORMS: dict[str, Form] = {
    **{
        f"{name} of {culture}": lambda events, form=form, culture=culture: form(events, culture=culture)
        for name, form in WITH_CULTURE.items()
        for culture in CULTURES
    },
    **{name: EXPORTS[name] for name in ("wevtutil", "Winlogbeat", "PowerShell 5.1")},
}
"""Times in XML and JSON have no culture."""
EVENTS, FEW, BLOCK = 1_000_000, 3_000, 1_000
MANY_SHAPES = 50_000
MOST_MEMORY = 512 << 20
LOOP = "tests/live/test_active_directory.py::test_the_printed_ldif_makes_the_index_and_its_reverse_drops_it"
AHEAD = timedelta(hours=3)


def run(step: str, *, small: bool) -> dict[str, str]:
    """Run a step; each has the same columns."""
    kind, _, rest = step.partition(", ")
    with tempfile.TemporaryDirectory(prefix="ldapdiag-experiment-") as folder:
        tried, told, wrong = STEPS[kind](rest, Path(folder), small)
    return {
        "tried": tried,
        "told": told,
        "load": f"{os.getloadavg()[0]:.1f}",
        "result": "; ".join(wrong) or AS_EXPECTED,
    }


def _rows(form: str, folder: Path, small: bool) -> tuple[str, str, list[str]]:  # noqa: FBT001  as STEPS has it
    """Give each row of the table a domain controller of its own, in one forest, and compare what is found of each."""
    rows = dict(list(ROWS.items())[:: 9 if small else 1])
    for number, (asked, _) in enumerate(rows.values()):
        events = Events(f"DC{number}")
        events.ask(**asked)
        own = folder / f"DC{number}"  # the Event Viewer does not name the controller
        own.mkdir()
        (own / "events").write_text(FORMS[form](events.listed), newline="")
    (folder / "schema.ldf").write_text(schema_ldif())
    diagnosis = diagnosed_facts(gather([str(folder)]).facts)
    found: dict[str, set[tuple[str, ...]]] = {f"DC{number}": set() for number in range(len(rows))}
    for check in CHECKS:
        for one in findings(diagnosis, check).values():
            found[one.server or "?"].add((check, one.observed["attribute"], *one.observed.get("types", ())))
    wrong = [
        f"{name}: {sorted(found[f'DC{number}'])}"
        for number, (name, (_, expected)) in enumerate(rows.items())
        if found[f"DC{number}"] != expected
    ]
    return f"{len(rows)} searches", f"{sum(map(len, found.values()))} findings", wrong


def _filters(form: str, folder: Path, _: bool) -> tuple[str, str, list[str]]:  # noqa: FBT001  as STEPS has it
    """Log each filter as a domain controller rewrites it, and compare the shapes with those of the filters sent."""
    (folder / "events").write_text(FORMS[form]([event(number, one) for number, one in enumerate(FILTERS)]), newline="")
    found = {key[0] for log in _logs(folder) for key in log.segment.shapes}
    expected = {shape(one.encode()) for one in FILTERS.values()}
    wrong = [repr(one) for one in sorted(found ^ expected)]
    return f"{len(FILTERS)} filters", f"{len(found)} shapes", wrong


def _mixed(_: str, folder: Path, __: bool) -> tuple[str, str, list[str]]:  # noqa: FBT001  as STEPS has it
    """Export three controllers, of which one has another clock and culture, and one has a file that is cut."""
    made = {
        server: [event(number, server=server, client=f"10.{number}.1.1:40000") for number in range(100)]
        for server in ("DC1", "DC2", "DC3")
    }
    first, cut = made["DC1"], as_xml(made["DC3"])
    ahead = [replace(one, time=one.time + AHEAD) for one in made["DC2"]]
    texts = {
        "one": FORMS["CSV of en-US"](first[:50]),
        "two": EXPORTS["Winlogbeat"](first[50:]),
        "three": FORMS["Export-Csv of de-DE"](ahead),
        "four": cut[: len(cut) // 2 - 200],
    }
    for name, text in texts.items():
        (folder / name).write_text(text, newline="")
    expected = {"DC1": 100, "DC2": 100, "DC3": texts["four"].count("</Event>")}
    logs = list(_logs(folder))
    found = {one.decode(): log.segment.operations[SEARCH] for log in logs for one, _ in log.segment.instances}
    misread = sum(log.segment.misread for log in logs)
    wrong = [f"{found} and not {expected}"] * (found != expected) + [f"{misread} misread"] * (misread != 1)
    told = f"{sum(found.values())} events of {', '.join(sorted(found))}, {misread} not understood"
    return f"{sum(expected.values())} events of 3 servers in 4 files, 1 cut", told, wrong


def _logs(folder: Path) -> Iterator[AccessLog]:
    yield from (one for one in gather([str(folder)]).facts if isinstance(one, AccessLog))


def _memory(rest: str, folder: Path, small: bool) -> tuple[str, str, list[str]]:  # noqa: FBT001  as STEPS has it
    """Write a million events, and let a command read them; the total is exact, and the memory is bounded."""
    command, form, shapes = rest.split(", ")
    count, path = FEW if small else EVENTS, folder / "events"
    with path.open("w", newline="") as stream:
        for first in range(0, count, BLOCK):
            text = EXPORTS[form]([_numbered(first + place, int(shapes)) for place in range(BLOCK)])
            has_header = form == "Event1644Reader" and first
            stream.write(text.partition("\r\n")[2] if has_header else text)
    megabytes = path.stat().st_size / 1e6
    ran = log_runs.run([sys.executable, "-m", "ldapdiag", command, "--format", "json", str(path)])
    report = json.loads(ran.out)
    wrong = ["too much memory"] * (ran.memory > MOST_MEMORY)
    if command == "log" and (found := report["operations"]["search"]) != count:
        wrong.append(f"{found} searches")
    told = f"{ran.cpu:.0f} s of processors, {ran.memory / 2**20:.0f} MiB"
    return f"{count:,} events, {megabytes:,.0f} MB", told, wrong


def _numbered(number: int, shapes: int) -> Event:
    """Return one of a million events, 50 ms apart, each of another client and account for its filter."""
    name = f"attr{number % shapes}"
    one = event(
        0, f" ( &  (objectClass=user)  ({name}=v{number}) ) ", visited=10_000 + number % 7, preventing=name,
        used=f"idx_objectClass:{number}:N;", user=f"A\\svc{number // 11 % 5000}",
        client=f"10.1.{number // 3 % 200}.{number // 7 % 250}:{1024 + number % 60_000}",
    )  # fmt: skip
    return replace(one, time=one.time + timedelta(milliseconds=50 * number))


def _samba(_: str, __: Path, ___: bool) -> tuple[str, str, list[str]]:  # noqa: FBT001  as STEPS has it
    """Run the test of the plan on a domain controller, which prints the times before and after."""
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", LOOP],
        cwd=HOUSE, env=os.environ | {"LDAPDIAG_REQUIRE_LAB": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    said = next((line for line in ran.stdout.splitlines() if "with the index" in line), "")
    return "plan, LDIF, @INDEXLIST, undo", said, [] if ran.returncode == 0 else [ran.stdout[-400:].replace("\n", " ")]


STEPS: dict[str, Callable[[str, Path, bool], tuple[str, str, list[str]]]] = {
    "rows": _rows,
    "filters": _filters,
    "mixed exports": _mixed,
    "memory": _memory,
    "samba": _samba,
}
READ = [
    *(f"log, {form}, {shapes}" for form in ("Event1644Reader", "wevtutil", "NXLog") for shapes in (20, MANY_SHAPES)),
    *(f"indexes, {form}, {MANY_SHAPES}" for form in ("Event1644Reader", "wevtutil")),
]
SHORT = ("rows, wevtutil", "filters, wevtutil", "mixed exports", f"memory, log, wevtutil, {MANY_SHAPES}")
EXPERIMENT = Experiment(
    name="active-directory",
    title="Active Directory: events in each form, a million of them, and the indexes of Samba",
    about=(
        "Events 1644 are made from one list of truth (tests/log/windows_events.py), not captured: no Windows is at\n"
        "hand. Rows: each search of the decision table and its counter-examples at a domain controller of its own.\n"
        "Filters: as a server rewrites them. Memory: a million events, in 20 or 50,000 shapes. Samba: the printed\n"
        "LDIF, the index in its database, times before and after, undo. Expected: every finding and total is that of\n"
        "the truth, and the memory of a command stays below 512 MiB."
    ),
    steps=(
        *SHORT,
        *(f"{kind}, {form}" for kind in ("rows", "filters") for form in FORMS if form != "wevtutil"),
        "samba",
        *(f"memory, {one}" for one in READ if f"memory, {one}" not in SHORT),
    ),
    run=run,
    small=len(SHORT),
)

"""The parts of a report on selected operations: the conditions, and the lines of the slowest.

Names of the usual result codes (RFC 4511, appendix A; RFC 3909 for cancel).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.log.stamps import SECOND, moment
from ldapdiag.report.log.quantities import day_and_time, duration, seconds
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ldapdiag.analysis.log.selections import Wanted
    from ldapdiag.documents.log import NoMatch, Selection, SlowestLines
    from ldapdiag.evidence.log.selection import ShownOperation
    from ldapdiag.report.log.reading import ReadLog
    from ldapdiag.report.page import Page


def print_conditions(page: Page, read: ReadLog) -> None:
    """Print which operations are counted."""
    if read.wanted is None or not read.is_selection:
        return
    page.packed("only", ["operations with a result", *conditions(read.wanted)], "bold")
    for sentence in read.not_found:
        page.labelled("", sentence, "")
    if read.wanted.clients and read.log_times is None:
        page.labelled(
            "",
            f"these clients opened {counted(read.wanted.connections_opened(read.workload.segment), 'connection')}",
            "",
        )


def no_match(read: ReadLog) -> NoMatch | None:
    """Return what was asked for and is not in the log, and when that begins and ends; None where something matches."""
    if read.log_times is None:
        return None
    of = ["operation", *conditions(read.wanted)] if read.wanted and read.is_selection else ["record"]
    period = [f"{word} {_second(time)}" for word, time in (("since", read.since), ("until", read.until)) if time]
    begins, ends = (moment(time, SECOND) for time in read.log_times)
    return {"asked": " ".join([*of, *period]), "log_begins": begins, "log_ends": ends}


def no_match_sentence(found: NoMatch) -> str:
    """Return the same as a sentence."""
    begins, ends = (f"{found[key][:10]} {found[key][11:19]} UTC" for key in ("log_begins", "log_ends"))
    return f"no {found['asked']}; the log begins at {begins} and ends at {ends}"


def _second(nanoseconds: int) -> str:
    return f"{' '.join(day_and_time(nanoseconds))} UTC"


def conditions(wanted: Wanted) -> Iterator[str]:
    """Yield the conditions of a selection in words."""
    if wanted.clients:
        yield f"of client {_any(wanted.clients)}"
    if wanted.accounts:
        yield f"as {_any(wanted.accounts)}"
    if wanted.connections:
        yield f"of connection {_any([str(one) for one in wanted.connections])}"
    if wanted.shapes:
        yield f"with filter {_any(wanted.shapes)}"
    if wanted.least_seconds:
        yield f"of {duration(round(wanted.least_seconds * 1_000_000_000))} or more"
    if wanted.codes:
        yield f"with result {_any([named(one) for one in wanted.codes])}"


def _any(values: Sequence[str]) -> str:
    return " or ".join(values)


def print_lines(page: Page, shown: Sequence[ShownOperation]) -> None:
    """Print the slowest operations with their lines, the slowest first."""
    for number, one in enumerate(shown):
        where = [f"{line.file}:{line.number}" for line in one.lines[-1:]]
        page.packed("" if number else "lines", [duration(one.etime), *(where or ["its lines were not found"])], "bold")
        for line in one.lines:
            page.indented(line.text.decode("utf-8", "backslashreplace"))


def lines_as_data(shown: Sequence[ShownOperation], resolution: int) -> list[SlowestLines]:
    """Return the slowest operations with their lines, for JSON."""
    return [
        {
            "etime_seconds": seconds(one.etime),
            "time": moment(one.time, resolution),
            "connection": one.connection if one.connection >= 0 else None,
            "operation": one.operation if one.operation >= 0 else None,
            "lines": [
                {"file": line.file, "line": line.number, "text": line.text.decode("utf-8", "backslashreplace")}
                for line in one.lines
            ],
        }
        for one in shown
    ]


def conditions_as_data(wanted: Wanted | None) -> Selection | None:
    """Return the conditions of a selection, for JSON."""
    if wanted is None or not wanted.restricts:
        return None
    return {
        "clients": list(wanted.clients),
        "accounts": list(wanted.accounts),
        "connections": list(wanted.connections),
        "shapes": list(wanted.shapes),
        "codes": list(wanted.codes),
        "least_etime_seconds": wanted.least_seconds,
    }


NAMES = {
    0: "success",
    1: "operationsError",
    2: "protocolError",
    3: "timeLimitExceeded",
    4: "sizeLimitExceeded",
    5: "compareFalse",
    6: "compareTrue",
    7: "authMethodNotSupported",
    8: "strongerAuthRequired",
    10: "referral",
    11: "adminLimitExceeded",
    12: "unavailableCriticalExtension",
    13: "confidentialityRequired",
    14: "saslBindInProgress",
    16: "noSuchAttribute",
    17: "undefinedAttributeType",
    18: "inappropriateMatching",
    19: "constraintViolation",
    20: "attributeOrValueExists",
    21: "invalidAttributeSyntax",
    32: "noSuchObject",
    34: "invalidDNSyntax",
    48: "inappropriateAuthentication",
    49: "invalidCredentials",
    50: "insufficientAccessRights",
    51: "busy",
    52: "unavailable",
    53: "unwillingToPerform",
    54: "loopDetect",
    64: "namingViolation",
    65: "objectClassViolation",
    66: "notAllowedOnNonLeaf",
    67: "notAllowedOnRDN",
    68: "entryAlreadyExists",
    69: "objectClassModsProhibited",
    71: "affectsMultipleDSAs",
    80: "other",
    118: "canceled",
    121: "cannotCancel",
}


def named(err: int) -> str:
    """Return the name of a result code with its number; success without."""
    if err == 0:
        return NAMES[0]
    return f"{NAMES[err]} ({err})" if err in NAMES else f"code {err}"

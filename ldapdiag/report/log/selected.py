"""The parts of a report on selected operations: the conditions, and the lines of the slowest.

Names of the usual result codes (RFC 4511, appendix A; RFC 3909 for cancel).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.log.stamps import SECOND, moment
from ldapdiag.report.log.quantities import day_and_time, day_and_time_of, seconds
from ldapdiag.wording import counted, duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ldapdiag.documents.log import NoMatch, Selection, SlowestLines
    from ldapdiag.evidence.log.selection import ShownOperation
    from ldapdiag.report.log.content import LogContent
    from ldapdiag.report.page import Page


def print_conditions(page: Page, document: Mapping[str, Any]) -> None:
    """Print which operations are counted."""
    selection = document["selection"]
    if selection is None:
        return
    page.packed("only", ["operations with a result", *conditions(selection)], "bold")
    for sentence in selection["not_found"]:
        page.labelled("", sentence, "")
    if selection["clients"] and document["no_match"] is None:
        opened = counted(selection["connections_opened"], "connection")
        page.labelled("", f"these clients opened {opened}", "")


def no_match(read: LogContent) -> NoMatch | None:
    """Return what was asked for and is not in the log, and when that begins and ends; None where something matches."""
    if read.log_times is None:
        return None
    selection = conditions_as_data(read)
    of = ["operation", *conditions(selection)] if selection else ["record"]
    period = [f"{word} {_second(time)}" for word, time in (("since", read.since), ("until", read.until)) if time]
    begins, ends = (moment(time, SECOND) for time in read.log_times)
    return {"asked": " ".join([*of, *period]), "log_begins": begins, "log_ends": ends}


def no_match_sentence(found: Mapping[str, Any] | NoMatch) -> str:
    """Return the same as a sentence."""
    begins, ends = (f"{' '.join(day_and_time_of(str(found[key])))} UTC" for key in ("log_begins", "log_ends"))
    return f"no {found['asked']}; the log begins at {begins} and ends at {ends}"


def _second(nanoseconds: int) -> str:
    return f"{' '.join(day_and_time(nanoseconds))} UTC"


def conditions(selection: Mapping[str, Any] | Selection) -> Iterator[str]:
    """Yield the conditions of a selection in words."""
    if selection["clients"]:
        yield f"of client {_any(selection['clients'])}"
    if selection["accounts"]:
        yield f"as {_any(selection['accounts'])}"
    if selection["connections"]:
        yield f"of connection {_any([str(one) for one in selection['connections']])}"
    if selection["shapes"]:
        yield f"with filter {_any(selection['shapes'])}"
    if selection["least_etime_seconds"]:
        yield f"of {duration(selection['least_etime_seconds'])} or more"
    if selection["codes"]:
        yield f"with result {_any([named(one) for one in selection['codes']])}"


def _any(values: Sequence[str]) -> str:
    return " or ".join(values)


def print_lines(page: Page, document: Mapping[str, Any]) -> None:
    """Print the slowest operations with their lines, the slowest first."""
    for number, one in enumerate(document["slowest_lines"]):
        where = [f"{line['file']}:{line['line']}" for line in one["lines"][-1:]] or ["its lines were not found"]
        page.packed("" if number else "lines", [duration(one["etime_seconds"]), *where], "bold")
        for line in one["lines"]:
            page.indented(line["text"])


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


def conditions_as_data(read: LogContent) -> Selection | None:
    """Return the conditions of a selection, for JSON."""
    wanted = read.wanted
    if wanted is None or not wanted.restricts:
        return None
    return {
        "clients": list(wanted.clients),
        "accounts": list(wanted.accounts),
        "connections": list(wanted.connections),
        "shapes": list(wanted.shapes),
        "codes": list(wanted.codes),
        "least_etime_seconds": wanted.least_seconds,
        "not_found": list(read.not_found),
        "connections_opened": wanted.connections_opened(read.workload.segment),
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

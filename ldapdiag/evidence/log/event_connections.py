r"""Events of Active Directory on single connections, in a line each, whatever they were exported as (event_exports.py).

    "event 1317","DC1","2026-11-20T08:54:04Z","10.77.2.2:49152"             closed by the idle timeout, MaxConnIdleTime
    "event 1216","DC1","2026-11-20T08:54:04Z","10.77.2.2:49152","1236"      closed because of this error
    "event 2889","DC1","2026-11-20T08:54:04Z","10.77.2.2:49152","1","X\joe" a BIND; 0: SASL, unsigned; 1: a password

'16 LDAP Interface Events' = 2 in the registry logs them. Their values are found by their form, not by their place: no
source has the order of all. Of 2889, events of NT AUTHORITY\SYSTEM have type 0, which cannot be simple: so it is SASL,
although one page of Microsoft has it the other way round. Not tested on Windows. Sources: published events 1216 and
2889; Microsoft KB4520412.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.evidence.log.scan import Scan

CLOSED_BY_ERROR, UNSIGNED_BIND = "1216", "2889"
SIMPLE_BIND = "1"
ENDPOINT = pattern(r"(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9A-Fa-f:.]{2,45}(?:%\w{1,16})?\]):\d{1,5}", re.ASCII)
NUMBER = pattern(r"(\d{1,10})(?: .*)?")
LABELLED = pattern(
    r"(?:Client IP(?: address)?|[Nn]etwork address|Identity the client attempted to authenticate as|Binding Type"
    r"|Error value):\s{0,9}([^\r\n]{1,1024})"
)


def connection_row(number: str, server: str, time: str, values: Sequence[str]) -> bytes | None:
    """Return the line of an event, from its EventData or [its text]; None where it names no client."""
    import csv  # noqa: PLC0415  import late: most logs have none
    import io  # noqa: PLC0415

    if len(values) == 1 and not ENDPOINT.fullmatch(values[0].strip()):
        values = LABELLED.findall(values[0])
    texts = [value.strip() for value in values]
    client = next(filter(ENDPOINT.fullmatch, texts), "")
    if not client:
        return None
    code = next((found[1] for text in texts if (found := NUMBER.fullmatch(text))), "")
    account = next((text for text in texts if text != client and not NUMBER.fullmatch(text)), "")
    cells = {CLOSED_BY_ERROR: [code], UNSIGNED_BIND: [code, account]}.get(number, [])
    out = io.StringIO(newline="")
    row = (f"event {number}", server, time, client, *cells)
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="").writerow(" ".join(cell.split()) for cell in row)
    return out.getvalue().encode("utf-8", "surrogateescape")


def count_event(log: Scan, number: str, time: int, endpoint: str, cells: Sequence[str]) -> None:
    """Count a close, or a BIND with a password in clear text. Raises ValueError for another row."""
    client, account = endpoint.rpartition(":")[0].strip("[]").encode("utf-8", "surrogateescape"), b""
    if number == UNSIGNED_BIND:
        kind, name = cells
        account = name.encode("utf-8", "surrogateescape")
        if kind == SIMPLE_BIND:
            log.clear_bind_without_connection(time, client, account)
    else:
        log.closed_without_connection(time, client, " ".join(filter(None, (number, *cells))).encode())
    if ENDPOINT.fullmatch(endpoint):
        log.endpoint_bound(time, endpoint.encode(), account)

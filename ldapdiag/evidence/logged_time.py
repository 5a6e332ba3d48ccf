"""The time of one line of a server's log, where its stamp names one.

[20/Nov/2026:08:45:18.529737884 +0000] - ERR - accept_thread - Not listening for new connections
6b00111c.32864e18 0x7f9c26e20200 fd=127 DENIED from unknown (127.0.0.70)
<167>1 2026-11-20T08:54:04.365207+00:00 vm slapd 3989 - -  daemon: accept(8) failed errno=24
Nov 20 09:21:35 vm slapd[25675]: fd=127 DENIED from unknown (127.0.0.70)             no year: no time
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.log.stamps import ISO, NETSCAPE, SECOND, when

if TYPE_CHECKING:
    from datetime import datetime

CONTAINER = r"(?:[^\s=\"\[]{1,255} {1,80}\| ?)?"
STAMP = re.compile(
    CONTAINER + r"(?:\[(?P<netscape>\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d)(?:\.\d{1,9})?(?P<zone> [+-]\d{4})\]"
    r"|(?:<\d{1,3}>)?(?:1 )?(?P<iso>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d{1,9})?(?P<offset>Z|[+-]\d\d:\d\d)"
    r"|(?P<hexadecimal>[4-7][0-9a-f]{7})(?:\.[0-9a-f]{8})? )",
    re.ASCII,
)


def logged_time(line: str) -> datetime | None:
    """Return the time of a line, to the second; None where its stamp has no year, no zone, or is not one."""
    stamp = STAMP.match(line)
    if stamp is None:
        return None
    if stamp["hexadecimal"]:
        return when(int(stamp["hexadecimal"], 16) * SECOND)
    try:
        if stamp["netscape"]:
            return when(NETSCAPE[f"{stamp['netscape']}{stamp['zone']}".encode()])
        return when(ISO[f"{stamp['iso']}{stamp['offset']}".encode()])
    except ValueError:
        return None

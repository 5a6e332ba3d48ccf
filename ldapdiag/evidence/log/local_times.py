"""Local times in the JSON log of 389-ds that are not read: nsslapd-accesslog-time-format takes any format of strftime.

"local_time":"20.11.2026 10:00:00.123456789 +0100"
"""

from __future__ import annotations

from ldapdiag.evidence.log.dialects import named, scan_stream
from ldapdiag.lazy_pattern import pattern

LOCAL_TIME = pattern(rb'"local_time"\s{0,9}:\s{0,9}"([^"\\\n]{1,80})"')
RECORD = b'{"local_time":"%b","operation":"UNBIND","conn_id":1,"op_id":1}\n'


def unread_time(text: bytes) -> str:
    """Return the first local_time in a text if it has a form that is not read, and what to do; else nothing."""
    found = LOCAL_TIME.search(text)
    if found is None or not scan_stream(named("389-json"), RECORD % found[1]).misread:
        return ""
    return (
        f"local_time has a form that is not read: {found[1].decode(errors='backslashreplace')}; "
        "nsslapd-accesslog-time-format sets it, and without this setting new records have ISO 8601: "
        "dsconf INSTANCE config delete nsslapd-accesslog-time-format"
    )

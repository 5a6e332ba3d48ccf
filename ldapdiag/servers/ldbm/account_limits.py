"""Limits of the searches of an account on 389-ds and DSEE: those of the server, which its own entry may replace.

Source: Red Hat Directory Server 12, "Managing resource limits"; Oracle 821-1504, "Setting resource limits".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.servers.indexes.applied_limits import AppliedLimits
from ldapdiag.wording import number

if TYPE_CHECKING:
    from ldapdiag.evidence.indexes import Backend, IndexConfiguration

UNLESS = "unless the entry of the account, which is not in the evidence, has another"


def applied_limits(
    configuration: IndexConfiguration,
    backend: Backend,  # noqa: ARG001  part of the interface
    account: str,  # noqa: ARG001  part of the interface
    base: str,  # noqa: ARG001  part of the interface
) -> AppliedLimits | None:
    """Return the limits of the server; None: they are not known."""
    candidates = ", ".join(
        f"nsslapd-{name} is {_shown(value)}"
        for name, value in (
            ("lookthroughlimit", configuration.lookthrough_limit),
            ("rangelookthroughlimit", configuration.range_lookthrough_limit),
            ("pagedlookthroughlimit", configuration.paged_lookthrough_limit),
        )
        if value is not None
    )
    seconds = configuration.time_limit
    if not candidates and seconds is None:
        return None
    return AppliedLimits(
        rule=f"{candidates or 'nsslapd-lookthroughlimit is not in the evidence'}, {UNLESS} (nsLookThroughLimit)",
        known=False,
        time=f"nsslapd-timelimit is {_shown(seconds, ' s')}, {UNLESS} (nsTimeLimit)" if seconds is not None else "",
    )


def _shown(limit: int, unit: str = "") -> str:
    return "-1 (no limit)" if limit < 0 else f"{number(limit)}{unit}"

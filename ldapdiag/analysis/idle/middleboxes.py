"""Middleboxes: vendors' default idle timeouts, to name suspects for a measured bound.

Sources: the vendors' own documentation (AWS, Azure, GCP, Cisco, Palo Alto, Juniper, F5; Linux
Documentation/networking/nf_conntrack-sysctl.rst). Administrators change these values, so a match names a suspect,
never the cause.
"""

from __future__ import annotations

DEFAULT_TIMEOUTS: dict[int, tuple[str, ...]] = {
    60: ("AWS Classic Load Balancer", "HAProxy as most distributions configure it"),
    240: ("Azure Load Balancer or NAT gateway",),
    300: ("F5 BIG-IP (tcp, fastL4)", "Docker Desktop"),
    350: ("AWS Network Load Balancer", "AWS NAT gateway"),
    600: ("Google Cloud VPC firewall",),
    900: ("IPVS (kube-proxy)",),
    1800: ("Juniper SRX",),
    3600: ("Cisco ASA/FTD", "Palo Alto", "Check Point", "Fortinet"),
    86400: ("pf (OpenBSD, pfSense)",),
    432000: ("Linux conntrack",),
}
"""Seconds to products."""


def suspects(lower: float | None, upper: float | None) -> tuple[str, ...]:
    """Return the products whose default timeout lies in (lower, upper], if exactly one default does. Seconds."""
    if upper is None:
        return ()
    inside = [seconds for seconds in DEFAULT_TIMEOUTS if (lower or 0) < seconds <= upper * 1.01]
    return DEFAULT_TIMEOUTS[inside[0]] if len(inside) == 1 else ()

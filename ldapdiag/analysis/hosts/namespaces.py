"""Network namespaces of one machine: whether all were read is known of the machine, and holds for each of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ldapdiag.analysis.hosts.host import Host


def with_unread_namespaces(hosts: tuple[Host, ...]) -> tuple[Host, ...]:
    """Return the hosts; a namespace has the number of unread ones of its machine, where that was read as well."""
    of_machine = {
        one.description.machine: one.description.namespaces_unread
        for one in hosts
        if one.description and one.description.machine and one.description.namespaces_unread is not None
    }
    return tuple(_with_unread(host, of_machine) for host in hosts)


def _with_unread(host: Host, of_machine: dict[str, int]) -> Host:
    description = host.description
    if description is None or description.namespaces_unread is not None or description.machine not in of_machine:
        return host
    unread = of_machine[description.machine]
    return replace(host, description=replace(description, namespaces_unread=unread))

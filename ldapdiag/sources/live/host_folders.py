"""Host folders: assign live evidence to the folder of its host, each network namespace once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.host import own_addresses
from ldapdiag.evidence.host_facts import HostDescription

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ldapdiag.sources.files.input import Input
    from ldapdiag.sources.live.collected_target import CollectedTarget


def in_host_folders(targets: Sequence[CollectedTarget]) -> Iterator[Input]:
    """Yield every piece; an LDAP answer goes into the folder of the host that owns the server's address.

    The answer at the address of a proxy is some server's behind it, and goes into a folder of its own.
    """
    for target in targets:
        folder = _folder_of(target.collector.peer, targets)
        for piece in target.pieces:
            if folder is None:
                yield piece
            else:
                yield replace(piece, folder=folder, path=f"{folder}/{piece.path.rpartition('/')[2]}")


def _folder_of(address: str | None, targets: Sequence[CollectedTarget]) -> str | None:
    if address is None:
        return None
    found = ((target, folder) for target in targets if (folder := target.folder_of(address)) is not None)
    target, folder = next(found, (None, None))
    return f"behind-{folder}" if target is not None and folder is not None and target.is_proxy(folder) else folder


def without_duplicates(pieces: Iterable[Input], targets: Sequence[CollectedTarget]) -> Iterator[Input]:
    """Yield the pieces of each network namespace once: ssh to a host and to its container reads the same namespace.

    A host named on the command line takes precedence; else the first folder of the namespace does. A namespace that was
    not named is left out when it has an address of a named host: it belongs to another network.
    """
    named = {target.folder for target in targets}
    hosts = [fact for target in targets for fact in target.facts if isinstance(fact, HostDescription)]
    addresses = {address for host in hosts if host.origin.folder in named for address in own_addresses(host)}
    chosen: dict[tuple[str, str], str] = {}
    for host in sorted(hosts, key=lambda host: host.origin.folder not in named):
        folder = host.origin.folder
        is_foreign = folder not in named and not addresses.isdisjoint(own_addresses(host))
        namespace = (host.machine, host.namespace) if host.namespace else (folder, "")
        chosen.setdefault(namespace, "" if is_foreign else folder)
    left_out = {host.origin.folder for host in hosts} - set(chosen.values())
    return (piece for piece in pieces if piece.folder not in left_out)

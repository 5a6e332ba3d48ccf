"""TCP sockets of the local host, by the best method available: netlink, else /proc/net/tcp."""

from __future__ import annotations

import errno
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from pathlib import Path
from threading import get_native_id
from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.origin import Span
from ldapdiag.sources.files.input import Input
from ldapdiag.sources.live.local.namespaces import run_inside
from ldapdiag.sources.live.local.netlink import ListingLimit, dump, import_early

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ldapdiag.sources.live.local.namespaces import NetworkNamespace
    from ldapdiag.sources.live.local.processes import SocketOwner

CHUNK_BYTES = 1 << 16


def list_sockets(
    namespace: NetworkNamespace,
    *,
    folder: str,
    snapshot: int,
    owners: Mapping[int, SocketOwner] | None = None,
    limit: ListingLimit | None = None,
) -> Iterator[Input | Gap]:
    """Yield the socket table of a namespace from the first method that succeeds, and a gap for those that failed.

    `snapshot` numbers the snapshots of this host from 1; `owners` are by inode.
    """
    limit = limit or ListingLimit()
    import_early()
    failures: list[str] = []
    for method, read in METHODS.items():
        start = datetime.now(UTC)
        try:
            limit.check()
            content = read(namespace, owners, limit)
        except (OSError, ImportError) as error:
            if limit.error_number:
                yield _limit_gap(folder, limit)
                return
            failures.append(f"{method} failed: {_reason(error)}")
            continue
        taken = Span(start=start, end=datetime.now(UTC))
        path = f"{folder}/sockets-{snapshot}.{method}"
        asked = f"{method} in {_label(namespace)}"
        yield Input(
            path=path, folder=folder, label=path, source=partial(BytesIO, content), named=True, taken=taken, asked=asked
        )
        if failures:
            yield _failure_gap(folder, failures, f"; used {method}, which has fewer columns")
        return
    yield _failure_gap(folder, failures, "")


def _label(namespace: NetworkNamespace) -> str:
    if namespace.own:
        return "its own network namespace"
    return f"the network namespace {namespace.name or namespace.path}"


def _limit_gap(folder: str, limit: ListingLimit) -> Gap:
    reason, how = "not listed within the time limit", "raise --timeout"
    if limit.error_number == errno.ECANCELED:
        reason, how = "not listed: the run was interrupted", "run it again"
    return Gap(target=f"the sockets of {folder}", reason=reason, how=how)


def _failure_gap(folder: str, failures: list[str], substitute: str) -> Gap:
    reason = "; ".join(failures) + substitute
    how = "run as root; in a container, with CAP_SYS_ADMIN"
    if "pyroute2" in reason:
        how = "install pyroute2 in the environment of ldapdiag"
    return Gap(target=f"the sockets of {folder}", reason=reason, how=how)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error) or type(error).__name__


def _entrance(namespace: NetworkNamespace) -> str | None:
    return None if namespace.own else namespace.path


def _by_netlink(namespace: NetworkNamespace, owners: Mapping[int, SocketOwner] | None, limit: ListingLimit) -> bytes:
    return dump(_entrance(namespace), owners=owners, limit=limit)


def _by_proc(namespace: NetworkNamespace, _: object, limit: ListingLimit) -> bytes:
    """Return /proc/net/tcp and tcp6; those of a process can be read from outside its namespace."""
    if namespace.pid:
        return _proc_net(f"/proc/{namespace.pid}/net", limit)
    return run_inside(_entrance(namespace), lambda: _proc_net(f"/proc/self/task/{get_native_id()}/net", limit))


def _proc_net(folder: str, limit: ListingLimit) -> bytes:
    content = bytearray()
    for path in (Path(folder, "tcp"), Path(folder, "tcp6")):
        if path.name == "tcp6" and not path.exists():  # a kernel without IPv6
            continue
        with path.open("rb", buffering=0) as table:
            while part := table.read(CHUNK_BYTES):
                content += part
                limit.check()
    return bytes(content)


METHODS: dict[str, Callable[[NetworkNamespace, Mapping[int, SocketOwner] | None, ListingLimit], bytes]] = {
    "inet_diag": _by_netlink,
    "proc": _by_proc,
}
"""Methods to list sockets, the best first; the file name ends with the method. Both need no command. If both fail for
the host itself, the collection script lists its sockets by ss or netstat, as on any other host."""

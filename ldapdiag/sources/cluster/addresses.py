"""Addresses of clusters: what `--cluster` names, as the address of a scheduler, or as a number of processes here."""

from __future__ import annotations

import json
import os
from pathlib import Path

from ldapdiag.errors import UsageError
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

VARIABLE = "DASK_SCHEDULER_ADDRESS"
"""The environment variable that `env` stands for."""
DEFAULT_PORT = 8786
"""Port of a scheduler that is started without --port."""
MOST_PROCESSES = 256
MOST_BYTES = 1 << 20
"""Limit of a scheduler file."""
FORMS = "tcp://HOST:8786, tls://HOST:8786, a scheduler file, env or local:N"
SCHEDULER = pattern(r"(tcp|tls)://([A-Za-z0-9_][A-Za-z0-9._-]{0,252}|\[[0-9A-Fa-f:.%a-z]{2,60}\])(?::([0-9]{1,5}))?/?")
LOCAL = pattern(r"local:([0-9]{1,4})")


@dataclass(frozen=True, slots=True)
class ClusterAddress:
    """A scheduler, or processes of this machine."""

    scheduler: str = ""
    """As tcp://HOST:PORT or tls://HOST:PORT; empty for processes of this machine."""
    processes: int = 0

    def __str__(self) -> str:
        return self.scheduler or f"local:{self.processes}"


def cluster_address(named: str) -> ClusterAddress:
    """Return what the operator named. Raises UsageError."""
    if named == "env":
        return _of_environment()
    if (local := LOCAL.fullmatch(named)) is not None:
        if not 1 <= int(local[1]) <= MOST_PROCESSES:
            raise UsageError(f"--cluster {named}: a number of processes from 1 to {MOST_PROCESSES} is needed")
        return ClusterAddress(processes=int(local[1]))
    if "://" not in named and Path(named).is_file():
        return _of_file(Path(named))
    shown = "…" if "@" in named else named  # a password has no place here, nor in an error
    return ClusterAddress(_scheduler(named, f"--cluster {shown} is not the address of a cluster; use {FORMS}"))


def _scheduler(address: str, refusal: str) -> str:
    """Return an address with its port. Raises UsageError with the refusal."""
    found = SCHEDULER.fullmatch(address)
    if found is None or not 1 <= int(found[3] or DEFAULT_PORT) <= 65535:
        raise UsageError(refusal)
    return f"{found[1]}://{found[2]}:{int(found[3] or DEFAULT_PORT)}"


def _of_environment() -> ClusterAddress:
    address = os.environ.get(VARIABLE, "")
    how = "set it to tcp://HOST:8786 or tls://HOST:8786"
    if not address:
        raise UsageError(f"--cluster env: {VARIABLE} is not set; {how}")
    return ClusterAddress(_scheduler(address, f"--cluster env: {VARIABLE} is not the address of a scheduler; {how}"))


def _of_file(path: Path) -> ClusterAddress:
    """Return the address in the file that a scheduler writes with --scheduler-file."""
    where = f"--cluster {path}"
    try:
        with path.open("rb") as file:
            content = json.loads(file.read(MOST_BYTES))
    except OSError as error:
        raise UsageError(f"{where}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):
        content = None
    address = content.get("address") if isinstance(content, dict) else None
    refusal = f"{where} is not a file of `dask scheduler --scheduler-file`: it has no address with tcp:// or tls://"
    return ClusterAddress(_scheduler(address if isinstance(address, str) else "", refusal))

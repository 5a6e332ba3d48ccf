"""Executor: the interface of what runs tasks, on the machines of a cluster or in threads of this process.

A task is a function of a module with arguments that can be pickled; neither contains a secret.

Installation: the versions that the client, the scheduler and the workers of a cluster must have in common.

Two grammars read one log differently. Dask and Python exchange functions and results between equal versions only.
"""

from __future__ import annotations

import sys
from importlib import metadata
from typing import TYPE_CHECKING, Protocol, TypeVar

import ldapdiag
from ldapdiag.errors import LdapdiagError
from ldapdiag.evidence.log.dialects import GRAMMAR_VERSION
from ldapdiag.sources.files.compressed import fastest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

MOMENT = 0.1
"""Longest time in seconds that `finished` waits: the caller then looks whether it was stopped, and shows progress."""


class ClusterError(LdapdiagError):
    """The cluster cannot be used, or cannot be used any more: no report can be given."""


class ExecutorLostError(ClusterError):
    """The scheduler does not answer any more: no task will end."""


class TaskError(Exception):
    """A task raised an error, or one whose result it takes; the message contains the error, `label` the task."""

    def __init__(self, label: str, reason: str) -> None:
        super().__init__(label, reason)  # both: errors are pickled by their arguments
        self.label = label
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


class WorkersDiedError(TaskError):
    """Each worker that was given the task has died; `label` is that of the task, not of one that takes its result."""


class CancelledTaskError(TaskError):
    """The task was cancelled, or one whose result it takes."""


class UndeliveredError(TaskError):
    """Reading was interrupted, and no worker delivered the result in time."""


class Task(Protocol[T_co]):
    """A function that runs, or will run, or has run."""

    @property
    def label(self) -> str:
        """Return what it works on, for messages: a file and its bytes."""

    @property
    def done(self) -> bool:
        """Return whether it has ended, with a result, an error or cancelled."""

    @property
    def succeeded(self) -> bool:
        """Return whether it has ended with a result, which is not asked for."""

    def fetch(self) -> object:
        """Begin to get the result, so that it is here if its worker is lost later."""

    def result(self) -> T_co:
        """Return the result, and wait for it, after Ctrl-C not for long. Raise TaskError, or ExecutorLostError."""

    def cancel(self) -> None:
        """Do not run it if it has not begun; `result` then raises CancelledTaskError, unless it was done already."""

    def release(self) -> None:
        """Forget the result, here and in the cluster, once no task waits for it; it cannot be asked for after this."""


class Executor(Protocol):
    """Runs tasks. One thread uses it."""

    @property
    def workers(self) -> int:
        """Return how many tasks can run at the same time now; workers come and go."""

    @property
    def retried(self) -> int:
        """Return how many tasks were begun again, because their worker has died, was lost or got stuck."""

    @property
    def dashboard(self) -> str:
        """Return the address of a page that shows the work; empty if there is none."""

    def submit(self, function: Callable[..., T], /, *arguments: object, label: str, size: int = 0) -> Task[T]:
        """Begin a task. An argument that is a Task itself is replaced by its result, on the worker.

        It fails if a task fails whose result it takes. A task whose worker dies, or takes ten times as long for its
        `size` in bytes as others do, is begun again on another one.
        Raise ExecutorLostError.
        """

    def finished(self) -> tuple[Task[object], ...]:
        """Return the tasks that have ended since the last call, each once; wait for one for MOMENT seconds at most.

        Raise ExecutorLostError.
        """

    def ask_each(self, function: Callable[..., T], /, *arguments: object) -> Mapping[str, T | Exception]:
        """Call a function once in each worker, now; return the results, or the errors, by the name of the worker.

        A worker that is lost meanwhile is left out; after Ctrl-C all are.
        Raise ExecutorLostError.
        """


def labelled(label: str, function: Callable[..., T], /, *arguments: object) -> T:
    """Call the function of a task. Raise TaskError for any error: not every error of a library can be pickled."""
    try:
        return function(*arguments)
    except TaskError:
        raise
    except Exception as error:  # noqa: BLE001  a function of any library may be behind it
        raise TaskError(label, f"{type(error).__name__}: {error}") from None


SAME = "install the same versions on all sides, or start them from one image"


def installation() -> dict[str, str]:
    """Return the versions of this process by the names that messages use; plain, as an older one may answer."""
    return {
        "ldapdiag": ldapdiag.__version__,
        "grammar": str(GRAMMAR_VERSION),
        "Python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "distributed": _version("distributed"),
        "compression": fastest(),
    }


def difference(here: dict[str, str], there: object) -> str:
    """Return how an answer of `installation` from another process differs; empty if it does not."""
    if not isinstance(there, dict):
        return f"cannot call ldapdiag ({there!s:.200})"
    differing = {name: own for name, own in here.items() if there.get(name) != own}
    return ", ".join(f"{name} {there.get(name)!s:.40} (here {own})" for name, own in differing.items())


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"

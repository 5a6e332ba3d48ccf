"""An executor that runs each task at once, in this process, with arguments and results pickled as for another one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic

import cloudpickle

from ldapdiag.sources.cluster.executor import CancelledTaskError, T, TaskError, labelled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NAME = "tcp://127.0.0.1:4000"


@dataclass(eq=False)
class DoneTask(Generic[T]):
    """A task that has run."""

    label: str
    value: T | None = None
    error: TaskError | None = None
    done: bool = True
    released: bool = False

    @property
    def succeeded(self) -> bool:
        return self.done and self.error is None

    def fetch(self) -> None:
        assert not self.released

    def result(self) -> T:
        assert not self.released
        if self.error is not None:
            raise self.error
        assert self.value is not None
        return self.value

    def cancel(self) -> None:
        if not self.done:
            self.done, self.error = True, CancelledTaskError(self.label, "the task was cancelled")

    def release(self) -> None:
        self.released = True


@dataclass
class InProcess:
    """Runs tasks; those in whose pickles a secret is found fail the test."""

    workers: int = 2
    retried: int = 0
    dashboard: str = ""
    dies_of: str = ""
    """The task with this in its label kills its workers."""
    error: type[TaskError] = TaskError
    pickles: list[bytes] = field(default_factory=list)
    tasks: list[DoneTask[Any]] = field(default_factory=list)
    ended: list[DoneTask[Any]] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)

    def submit(self, function: Callable[..., T], /, *arguments: object, label: str, size: int = 0) -> DoneTask[T]:
        assert size >= 0
        task: DoneTask[T] = DoneTask(label)
        self.labels.append(label)
        self.tasks.append(task)
        self.ended.append(task)
        try:
            if self.dies_of and self.dies_of in label:
                raise self.error(label, "each worker that was given this task has died")
            given = [one.result() if isinstance(one, DoneTask) else one for one in arguments]
            self.pickles.append(cloudpickle.dumps((function, given)))
            called, here = cloudpickle.loads(self.pickles[-1])
            self.pickles.append(cloudpickle.dumps(labelled(label, called, *here)))
            task.value = cloudpickle.loads(self.pickles[-1])
        except TaskError as error:
            task.error = error
        return task

    def finished(self) -> tuple[DoneTask[Any], ...]:
        several, self.ended = self.ended, []
        return tuple(several)

    def ask_each(self, function: Callable[..., T], /, *arguments: object) -> Mapping[str, T | Exception]:
        return {NAME: function(*arguments)}

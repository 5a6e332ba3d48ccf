"""How many examples tests draw: few at the desk, all in CI, and more in an experiment (hypothesis profiles).

A test takes the profile's number as it is, or a part of it where each of its examples costs much more than usual.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

from hypothesis import Phase, settings

PROFILES = {"desk": 10, "ci": 100, "experiment": 20_000}

T = TypeVar("T")

_seed = ""


def load(profile: str, seed: str | None) -> None:
    """Register the profiles, and choose one; the seed is that of --hypothesis-seed.

    CI looks for no smaller example of a failure: that took ten minutes, and then the run was ended without its name.
    The printed blob repeats the failure at the desk, where a smaller one is found.
    """
    global _seed  # noqa: PLW0603  one run has one
    _seed = seed or ""
    for name, examples in PROFILES.items():
        phases = [phase for phase in Phase if name != "ci" or phase not in {Phase.shrink, Phase.explain}]
        settings.register_profile(name, max_examples=examples, deadline=None, print_blob=True, phases=phases)
    settings.load_profile(profile)


def choices(name: str | int) -> Random:
    """Return what a loop chooses by: the same in each run, and others with --hypothesis-seed."""
    return Random(f"{name} {_seed}" if _seed else name)  # noqa: S311  a test that can be repeated, no secret


def every(nth: int) -> settings:
    """Return settings that draw one example of so many, and two at least."""
    return settings(max_examples=max(2, settings().max_examples // nth))


def some(members: Sequence[T], nth: int) -> Sequence[T]:
    """Return the members of a matrix that are tested: all in CI, and one of so many at the desk."""
    return members[:: nth if settings().max_examples < PROFILES["ci"] else 1]


def rounds(in_ci: int) -> range:
    """Return the rounds of a loop that draws its own examples: so many in CI, and one at least."""
    return range(max(1, in_ci * settings().max_examples // PROFILES["ci"]))

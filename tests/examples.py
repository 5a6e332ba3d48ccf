"""How many examples tests draw: few at the desk, all in CI, and more in an experiment (hypothesis profiles).

A test takes the profile's number as it is, or a part of it where each of its examples costs much more than usual.
"""

from __future__ import annotations

from hypothesis import settings

PROFILES = {"desk": 25, "ci": 300, "experiment": 20_000}


def load(profile: str) -> None:
    """Register the profiles, and choose one."""
    for name, examples in PROFILES.items():
        settings.register_profile(name, max_examples=examples, deadline=None, print_blob=True)
    settings.load_profile(profile)


def every(nth: int) -> settings:
    """Return settings that draw one example of so many, and two at least."""
    return settings(max_examples=max(2, settings().max_examples // nth))


def rounds(in_ci: int) -> range:
    """Return the rounds of a loop that draws its own examples: so many in CI, and one at least."""
    return range(max(1, in_ci * settings().max_examples // PROFILES["ci"]))

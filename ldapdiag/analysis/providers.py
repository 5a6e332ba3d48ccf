"""Providers: the function that computes each joined fact from other facts; its signature names those that it needs.

The module of a joined fact contains its provider, so a check that imports the fact has its provider registered, and a
command imports and computes only what its checks ask for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Provider = TypeVar("Provider", bound=Callable[..., Any])

PROVIDERS: dict[type[Any], Callable[..., Any]] = {}
"""Joined fact to function. diagnosis.py calls each at most once per server or host, after those it depends on."""


def provides(fact: type[Any]) -> Callable[[Provider], Provider]:
    """Register a function as the provider of a joined fact."""

    def register(provider: Provider) -> Provider:
        PROVIDERS[fact] = provider
        return provider

    return register

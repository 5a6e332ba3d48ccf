"""Where the captures are: our own under tests/captures, and the shared corpus where it lies beside the checkout."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("ldapdiag", deadline=None, print_blob=True)
settings.load_profile("ldapdiag")

TESTS = Path(__file__).parent
CAPTURES = TESTS / "captures"
CORPUS = TESTS.parent.parent / "shared" / "corpus"


@pytest.fixture
def captures() -> Path:
    """Return the folder of our own captures."""
    return CAPTURES


@pytest.fixture
def corpus() -> Path:
    """Return the shared corpus; a test that asks for it is skipped, with the reason, where it does not exist."""
    if not CORPUS.is_dir():
        pytest.skip("the shared corpus is not beside this checkout (it is in CI)")
    return CORPUS

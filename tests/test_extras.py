"""An extra is named as it can be installed: into this Python, from where ldapdiag was installed."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from ldapdiag import extras
from ldapdiag.extras import install_command


class Installed:
    """A distribution with one file of metadata."""

    def __init__(self, text: str | None) -> None:
        self.text = text

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return self.text


def direct(url: str, **info: object) -> str:
    return json.dumps({"url": url, "dir_info": info})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (direct("file:///srv/my%20tree", editable=True), ["-e", "/srv/my tree[s3]"]),
        (direct("file:///srv/ldapdiag"), ["/srv/ldapdiag[s3]"]),
        (direct("https://example.com/ldapdiag.whl"), ["ldapdiag[s3]"]),
        (None, ["ldapdiag[s3]"]),
        ("{", ["ldapdiag[s3]"]),
    ],
)
def test_the_source_is_that_of_the_installation(monkeypatch, text: str | None, words: list[str]) -> None:
    monkeypatch.setattr(extras, "distribution", lambda _: Installed(text))
    assert shlex.split(install_command("s3")) == [sys.executable, "-m", "pip", "install", *words]


def test_of_this_tree_it_names_the_folder_with_the_extras() -> None:
    *_, source = shlex.split(install_command())
    assert "[project.optional-dependencies]" in (Path(source) / "pyproject.toml").read_text()

"""What --cluster names: a scheduler by its address, in a file or in the environment, or processes of this machine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from ldapdiag.errors import UsageError
from ldapdiag.sources.cluster.addresses import VARIABLE, cluster_address

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("named", "address"),
    [
        ("tcp://scheduler:8786", "tcp://scheduler:8786"),
        ("tcp://scheduler", "tcp://scheduler:8786"),
        ("tls://10.0.0.1:1/", "tls://10.0.0.1:1"),
        ("tcp://[2001:db8::1]:8786", "tcp://[2001:db8::1]:8786"),
        ("local:2", "local:2"),
        ("local:256", "local:256"),
    ],
)
def test_addresses(named: str, address: str) -> None:
    assert str(cluster_address(named)) == address


@pytest.mark.parametrize(
    "named",
    [
        "", "scheduler:8786", "http://scheduler:8787", "tcp://", "tcp://scheduler:0", "tcp://scheduler:65536",
        "tcp://a b:8786", "tcp://scheduler:8786/status", "local:0", "local:257", "local:", "local:-1", "absent.json",
        "tcp://scheduler:8786\n", "inproc://1", "tcp://-o:8786",
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused(named: str) -> None:
    with pytest.raises(UsageError, match="--cluster"):
        cluster_address(named)


def test_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(UsageError, match="is not set"):
        cluster_address("env")
    monkeypatch.setenv(VARIABLE, "tls://scheduler:8786")
    assert str(cluster_address("env")) == "tls://scheduler:8786"
    monkeypatch.setenv(VARIABLE, "tcp://operator:secret@scheduler:8786")
    with pytest.raises(UsageError) as refused:
        cluster_address("env")
    assert "secret" not in str(refused.value)


def test_a_scheduler_file(tmp_path: Path) -> None:
    path = tmp_path / "scheduler.json"
    path.write_text(json.dumps({"type": "Scheduler", "address": "tcp://10.0.0.1:8786", "workers": {}}))
    assert str(cluster_address(str(path))) == "tcp://10.0.0.1:8786"


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{}", b"[1]", b"\xff", b"[" * 100_000, b'{"address": 1}', b'{"address": null}', b'{"address": "http://x"}',
        b'{"address": "tcp://u:secret@x:1"}', b'{"address": "tcp://x:1", "more": "' + b"x" * (2 << 20) + b'"}',
    ],
)  # fmt: skip
def test_a_file_that_is_no_scheduler_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "scheduler.json"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"scheduler\.json") as refused:
        cluster_address(str(path))
    assert "secret" not in str(refused.value)
    assert len(str(refused.value)) < 400

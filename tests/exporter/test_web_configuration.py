"""The web configuration of exporters: what it asks for is done, and what it asks for in vain is an error."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import bcrypt
import pytest

from lab.certificates import Authority
from ldapdiag.errors import UsageError
from ldapdiag.exporter.web_configuration import read

if TYPE_CHECKING:
    from pathlib import Path

HASH = bcrypt.hashpw(b"secret", bcrypt.gensalt(4)).decode()


def written(folder: Path, text: str) -> Path:
    path = folder / "web.yml"
    path.write_text(text)
    return path


def test_without_a_file_anybody_may_ask() -> None:
    assert (read(None).tls, read(None).users) == (None, None)


@pytest.mark.parametrize("library", ["yaml", "bcrypt"])
def test_a_library_that_is_missing_is_noticed_at_the_start(tmp_path: Path, library: str, monkeypatch) -> None:
    monkeypatch.setattr("ldapdiag.extras.find_spec", lambda name: None if name == library else name)
    with pytest.raises(UsageError, match=f"--web-config needs {library}"):
        read(written(tmp_path, "{}"))


def test_certificate_users_and_version(tmp_path: Path) -> None:
    Authority(tmp_path).sign("ds1", "127.0.0.1")
    tls = "tls_server_config: {cert_file: ds1.pem, key_file: ds1.key, min_version: TLS13}"
    found = read(written(tmp_path, f"{tls}\nbasic_auth_users: {{me: {HASH}}}"))
    assert found.tls
    assert (found.tls.minimum_version, found.tls.verify_mode) == (ssl.TLSVersion.TLSv1_3, ssl.CERT_NONE)
    assert found.users == {"me": HASH.encode()}


def test_a_client_ca_asks_for_certificates(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    authority.sign("ds1", "127.0.0.1")
    files = f"cert_file: ds1.pem, key_file: ds1.key, client_ca_file: {authority.certificate.name}"
    found = read(written(tmp_path, f"tls_server_config: {{{files}}}"))
    assert found.tls
    assert found.tls.verify_mode is ssl.CERT_REQUIRED


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("basic_auth_users: {me: secret}", "no bcrypt hash"),
        ("basic_auth_users: {me: $2y$12$short}", "no bcrypt hash"),
        ("basic_auth_users: {}", "names no user"),
        ("basic_auth_users:", "names no user"),
        ("basic_auth_user: {}", "basic_auth_user"),
        ("tls_server_config: {cert_file: none.pem, key_file: none.key}", "no such file"),
        ("tls_server_config: {cert_file: none.pem}", "cert_file and key_file"),
        ("tls_server_config:", "no mapping"),
        ("tls_server_config: {cert_file: a, key_file: b, client_auth_type: RequireAnyClientCert}", "client_auth_type"),
        (
            "tls_server_config: {cert_file: a, key_file: b, client_auth_type: RequireAndVerifyClientCert}",
            "client_ca_file",
        ),
        ("tls_server_config: {cipher_suites: []}", "cipher_suites"),
        ("[1, 2", "web.yml"),
        ("!!python/object/apply:os.system ['true']", "web.yml"),
        ("just text", "no mapping"),
    ],
)
def test_what_cannot_be_done_is_an_error(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason.replace(".", r"\.")) as error:
        read(written(tmp_path, text))
    assert "\n" not in str(error.value)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        read(tmp_path / "missing.yml")

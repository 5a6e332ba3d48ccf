"""The web configuration file of Prometheus exporters: TLS, and the users of basic authentication.

    tls_server_config: {cert_file: ds1.crt, key_file: ds1.key, client_auth_type: RequireAndVerifyClientCert,
                        client_ca_file: ca.crt, min_version: TLS13}
    basic_auth_users: {prometheus: $2y$12$...}         bcrypt, as `htpasswd -nBC 12 prometheus` prints it

Its form is that of the exporter-toolkit (https://prometheus.io/docs/prometheus/latest/configuration/https/). A key that
is not known here is an error: what it asks for would not be done. Names of files are relative to the file.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldapdiag.errors import UsageError
from ldapdiag.extras import require
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

TLS, USERS = "tls_server_config", "basic_auth_users"
FILES = ("cert_file", "key_file", "client_ca_file")
VERSIONS = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
CLIENTS = {
    "NoClientCert": ssl.CERT_NONE,
    "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
    "RequireAndVerifyClientCert": ssl.CERT_REQUIRED,
}
"""What a client's certificate must be; the toolkit's other two do not verify it."""
HASH = pattern(rb"\$2[aby]\$(?:0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}")
"""Of bcrypt: its version, the cost, salt and hash."""
MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class WebConfiguration:
    """How the exporter may be asked."""

    tls: ssl.SSLContext | None = None
    """None: without TLS."""
    users: Mapping[str, bytes] | None = None
    """The bcrypt hash of each user's password; None: everyone may ask."""


def read(path: Path | None) -> WebConfiguration:
    """Read a file; without one nothing is required. Raises UsageError."""
    if path is None:
        return WebConfiguration()
    for library in ("yaml", "bcrypt"):  # both now: a request with a password would be the first to miss bcrypt
        require(library, "--web-config", "monitoring")
    import yaml  # noqa: PLC0415  import late: an extra

    try:
        with path.open("rb") as file:
            values = yaml.safe_load(file.read(MOST_BYTES)) or {}
        return _of(values, path)
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UsageError(f"cannot use the web configuration {path}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError):
        return (error.strerror or str(error)).lower()
    return " ".join(str(error).split())


def _of(content: object, path: Path) -> WebConfiguration:
    values = _mapping(content, "the file", (TLS, USERS))
    return WebConfiguration(
        tls=_tls(_mapping(values[TLS], TLS, (*FILES, "client_auth_type", "min_version")), path)
        if TLS in values
        else None,
        users=_users(values[USERS]) if USERS in values else None,
    )


def _mapping(value: object, name: str, keys: Collection[str]) -> dict[str, Any]:
    """Return a mapping that has these keys alone. Raises ValueError."""
    if not isinstance(value, dict):
        raise ValueError(f"{name} is no mapping")  # noqa: TRY004  one error for what is wrong with the file
    if unknown := [key for key in value if key not in keys]:
        raise ValueError(f"{name} has the key {unknown[0]!r}, which is not known here; known are {', '.join(keys)}")
    return value


def _tls(values: Mapping[str, Any], path: Path) -> ssl.SSLContext:
    files = {name: str(path.parent / str(values[name])) for name in FILES if values.get(name)}
    if not {"cert_file", "key_file"} <= files.keys():
        raise ValueError(f"{TLS} needs cert_file and key_file")
    clients = str(values.get("client_auth_type", "RequireAndVerifyClientCert" if FILES[2] in files else "NoClientCert"))
    version = str(values.get("min_version", "TLS12"))
    if clients not in CLIENTS or version not in VERSIONS:
        raise ValueError(f"client_auth_type is one of {', '.join(CLIENTS)}, min_version one of {', '.join(VERSIONS)}")
    if CLIENTS[clients] is not ssl.CERT_NONE and FILES[2] not in files:
        raise ValueError(f"client_auth_type {clients} needs client_ca_file")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = VERSIONS[version]
    context.load_cert_chain(files["cert_file"], files["key_file"])
    if FILES[2] in files:
        context.load_verify_locations(files["client_ca_file"])
    context.verify_mode = CLIENTS[clients]
    return context


def _users(value: object) -> dict[str, bytes]:
    if not isinstance(value, dict) or not value:
        raise ValueError(f"{USERS} names no user")
    hashes = {str(user): str(hashed).encode() for user, hashed in value.items()}
    for user, hashed in hashes.items():
        if not HASH.fullmatch(hashed):
            raise ValueError(f"the password of {user} is no bcrypt hash; htpasswd -nBC 12 {user} prints one")
    return hashes

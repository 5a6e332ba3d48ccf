"""An authority of the laboratory and the certificates it signs, made by openssl."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """A server's certificate, its key, and the authority that vouches for it, as PEM files."""

    certificate: Path
    key: Path
    authority: Path


class Authority:
    """A certificate authority in a folder."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        """Make it; another name is another authority."""
        self.folder, self.certificate, self.key = folder, folder / f"{name}.pem", folder / f"{name}.key"
        _openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-subj", f"/CN=laboratory {name}", "-keyout", self.key, "-out", self.certificate,
            "-addext", "keyUsage=critical,keyCertSign,cRLSign",
        )  # fmt: skip

    def sign(self, name: str, *others: str, days: int = 2, usage: str = "serverAuth") -> Certificate:
        """Return a certificate for a host by these names or addresses; negative days make an expired one."""
        key, request, certificate = (self.folder / f"{name}.{end}" for end in ("key", "csr", "pem"))
        names = ",".join(f"{'IP' if other.replace('.', '').isdigit() else 'DNS'}:{other}" for other in (name, *others))
        extensions = self.folder / f"{name}.ext"
        extensions.write_text(f"subjectAltName={names}\nextendedKeyUsage={usage}\n")
        _openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout", key, "-out", request)
        _openssl(
            "x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial",
            "-days", str(days), "-extfile", extensions, "-out", certificate,
        )  # fmt: skip
        key.chmod(0o644)  # servers read it as users of their own, and it opens nothing
        return Certificate(certificate=certificate, key=key, authority=self.certificate)


def _openssl(*arguments: object) -> None:
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

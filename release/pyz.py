"""Make a folder that any Python from 3.11 runs, and a zipapp of it: the wheel and its dependencies in pure Python.

    python release/pyz.py dist/ldapdiag-*.whl dist

Writes dist/pure and dist/share (for the deb and the rpm, release/nfpm.yaml) and dist/ldapdiag.pyz, and prints what they
lack. The extras `top` and `monitoring` come along: only for passwords of the exporter, bcrypt is compiled.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import zipapp
from contextlib import suppress
from importlib.metadata import Distribution, distributions
from pathlib import Path

EXTRAS = ("top", "monitoring")
LOCKED = Path(__file__).with_name("locked.txt")
WANTED = "wheel.txt"
"""The wheel and its hash, as pip takes them: what else it installs has to have the hash of locked.txt."""
WITHOUT_ACCELERATOR = frozenset({"markupsafe", "pyyaml"})
"""Distributions whose compiled part only makes them faster."""
MAIN = "from ldapdiag.cli import main\n\nmain()\n"
"""Of the folder; that of a process of multiprocessing would be another."""


def pure_folder(wheel: Path, folder: Path) -> list[str]:
    """Install a wheel and its dependencies into a new folder, and return what had to be removed from it."""
    shutil.rmtree(folder, ignore_errors=True)
    wanted = folder.with_name(WANTED)
    hashed = hashlib.sha256(wheel.read_bytes()).hexdigest()
    wanted.write_text(f"ldapdiag[{','.join(EXTRAS)}] @ {wheel.as_uri()} --hash=sha256:{hashed}\n")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--only-binary", ":all:"]
    pip += ["--require-hashes", "--constraint", str(LOCKED), "--requirement", str(wanted)]
    subprocess.run([*pip, "--target", str(folder)], check=True)
    lacking = [name for one in list(distributions(path=[str(folder)])) if (name := _purified(one))]
    shutil.rmtree(folder / "bin")
    shutil.rmtree(folder.parent / "share", ignore_errors=True)
    (folder / "share").rename(folder.parent / "share")
    for record in folder.glob("ldapdiag-*.dist-info/direct_url.json"):
        record.unlink()  # the wheel on the machine that builds
    (folder / "__main__.py").write_text(MAIN)
    return sorted(lacking)


def _purified(one: Distribution) -> str | None:
    """Remove what is compiled, and return the name of the distribution if nothing of it may stay."""
    if "Root-Is-Purelib: true" in (one.read_text("WHEEL") or ""):
        return None
    name = re.sub(r"[-_.]+", "-", one.metadata["Name"]).lower()
    stays = name in WITHOUT_ACCELERATOR
    files = [Path(str(file.locate())) for file in one.files or []]
    for path in files:
        if path.exists() and (not stays or path.suffix == ".so"):
            path.unlink()
    for folder in sorted({parent for path in files for parent in path.parents[:3]}, reverse=True):
        with suppress(OSError):  # not empty
            folder.rmdir()
    return None if stays else name


def main() -> None:
    """Make both."""
    wheel, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    folder, target = out / "pure", out / "ldapdiag.pyz"
    lacking = pure_folder(wheel, folder)
    zipapp.create_archive(folder, target, interpreter="/usr/bin/env python3", compressed=True)
    target.chmod(0o755)
    print(f"{target}: {target.stat().st_size:,} bytes; it lacks {', '.join(lacking)} and ldapdiag-native")


if __name__ == "__main__":
    main()

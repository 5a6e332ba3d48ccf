"""Units of systemd in examples/: their sections, and what systemd has to say about them."""

from __future__ import annotations

import subprocess
from configparser import ConfigParser
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def sections(unit: Path) -> ConfigParser:
    """Return the sections of a unit."""
    parser = ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # names of systemd have capitals
    parser.read(unit)
    return parser


def complaints(service: Path, timer: Path) -> list[str]:
    """Return what systemd has to say about a service and its timer; other units of this machine do not matter."""
    command = ["systemd-analyze", "verify", "--man=no", service, timer]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    lines = (ran.stdout + ran.stderr).splitlines()
    return [line for line in lines if service.stem in line or ran.returncode]

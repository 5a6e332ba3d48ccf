"""User Mode Linux: a kernel of its own as an ordinary process, for block devices that the machine's kernel may lack.

    run(host, "lvm pvcreate … /dev/ubda", disks=2, output=folder)

A script runs in it as root, with the files of the host to read, its own /run, /var, /srv and /etc/lvm, and the output
folder at OUTPUT. It boots in about two seconds (Debian: user-mode-linux), and ends with the host.
"""

from __future__ import annotations

import string
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from lab.host import Host

KERNEL = "linux.uml"
TOOLS = (KERNEL, "lvm", "mdadm", "modprobe")
OUTPUT = "/srv/output"
MODULES = ("dm-mod", "raid1", "ext4", "xfs")
DISKS = "/run/uml-disk"
"""Files of the disks, in the host: with -a, -b…"""
MEGABYTES = 400
NO_REGISTERS = "ptrace set fp regs failed"
"""What the kernel of Debian 12 prints where the registers of the processor are more than it saves: AVX-512 and AMX."""
SECONDS = 600
"""Far more than a script takes: all processes there share one processor."""
BOOT = f"""#!/bin/sh
exec > /dev/console 2>&1
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mountpoint -q /dev || mount -t devtmpfs dev /dev
for folder in /run /var /srv /etc/lvm; do mount -t tmpfs none $folder; done
mkdir -p {OUTPUT} /run/lock/lvm /run/modules/lib/modules /var/lib /var/tmp
mount -t hostfs none {OUTPUT} -o {{output}}
hostname {{name}}
ip link set lo up
ln -s /usr/lib/uml/modules/$(uname -r) /run/modules/lib/modules/$(uname -r)
for module in {" ".join(MODULES)}; do modprobe -d /run/modules $module; done
(set -ex
{{script}}
) && echo ok > {OUTPUT}/ended
sync
umount {OUTPUT}
echo o > /proc/sysrq-trigger
sleep 60
"""
LVM = (
    'lvm {command} --config \'devices{{dir="/dev" scan=["/dev"] types=["{type}",16] use_devicesfile=0}} '
    "activation{{udev_sync=0 udev_rules=0 verify_udev_operations=1}} global{{use_lvmlockd=0}}'"
)
"""An LVM command without a udev that makes the names of devices."""


def lvm(command: str, *arguments: str, on: str = "ubd") -> str:
    """Return the line of a script that runs a command of LVM on devices of this type: ubd, md."""
    return f"DM_DISABLE_UDEV=1 {LVM.format(command=command, type=on)} {' '.join(arguments)}"


def run(host: Host, script: str, *, disks: int, output: Path) -> str:
    """Run a script there, with disks /dev/ubda, ubdb…, and return what it printed; its failure is an AssertionError."""
    output.mkdir()
    names = string.ascii_lowercase[:disks]
    host.run(f"for name in {' '.join(names)}; do truncate -s {MEGABYTES}M {DISKS}-$name; done")
    host.run(["tee", "/run/uml-boot"], stdin=BOOT.format(output=output, name=host.name, script=script))
    host.run(["chmod", "755", "/run/uml-boot"])
    given = [f"ubd{name}={DISKS}-{name}" for name in names]
    root = ["mem=768M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "init=/run/uml-boot"]
    done = host.attempt([KERNEL, *root, *given, "con=null", "con0=null,fd:1"], env={"TMPDIR": "/run"}, seconds=SECONDS)
    if NO_REGISTERS in done.stdout + done.stderr:
        pytest.skip(f"User Mode Linux cannot run on this processor: {NO_REGISTERS}")
    assert (output / "ended").exists(), f"User Mode Linux: the script failed\n{done.stdout}{done.stderr}"
    return done.stdout

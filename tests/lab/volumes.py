"""Volumes of the laboratory: file systems of every kind on loop devices, in the mount namespace of a host.

    with Host("ldap") as host:
        mount(host, FileSystem("ext4", options="nobarrier"), "/var/lib/ldap")
        server = laboratory.slapd(host)                     # its database lies on that volume

Images lie in the host's /run, in memory, or in another folder. A loop device is bound to its mount (autoclear), and the
mount to the host's namespace: all of it ends with the host, however the test ends.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lab.host import wait_for
from lab.slow_disk import SlowDisk

if TYPE_CHECKING:
    from pathlib import Path

    from lab.host import Host

IMAGES = "/run/images"
# zram devices belong to no namespace: a process of no host removes this one when the host has ended.
ZRAM = """
number=$(cat /sys/class/zram-control/hot_add)
(while kill -0 {host}; do sleep 0.1; done
 until [ ! -e /sys/block/zram$number ] || echo $number > /sys/class/zram-control/hot_remove; do sleep 0.1; done
) > /dev/null 2>&1 &
echo {megabytes}M > /sys/block/zram$number/disksize
echo /dev/zram$number
"""
MEGABYTES = 320
"""XFS takes no less than 300."""
ROOM_FOR_389 = 2048
"""In MiB: ns-slapd with Berkeley DB does not start with less space for its regions."""
NO_BACKGROUND = ("-E", "lazy_itable_init=0,lazy_journal_init=0")
"""All is written when the file system is made: later writes and flushes are the server's."""


@dataclass(frozen=True, slots=True)
class FileSystem:
    """How a file system is made and mounted."""

    type: str
    """ext2, ext3, ext4, xfs, btrfs, tmpfs; or what lies over another one: overlay, bind."""
    options: str = ""
    """Those of mount -o."""
    make: str = ""
    """Options of mkfs."""
    defaults: str = ""
    """Mount options that tune2fs -o writes into the superblock."""
    over: FileSystem | None = None
    """The file system that this one, or its image, lies on."""
    in_zram: bool = False
    """It lies on a block device in memory."""


@dataclass(frozen=True, slots=True)
class Volume:
    """A mounted file system of a host."""

    host: Host
    folder: str
    image: str
    """The file or device that it lies on; "" it has none of its own."""
    disk: SlowDisk | None

    @property
    def device(self) -> str:
        """The name of its loop device: loop3."""
        source = self.host.run(["findmnt", "-no", "SOURCE", "--mountpoint", self.folder])
        return source.split("[")[0].strip().removeprefix("/dev/")

    def settle(self) -> None:
        """Write what is in memory, down to the image, whatever the file system asks its disk for."""
        self.host.run(["sync", "-f", self.folder])
        if self.disk:
            self.disk.flush()

    def unmount(self) -> None:
        """Unmount it, once nobody uses it, and wait until no loop device has its file.

        Its former device may be another program's by then, for as long as that needs it: it takes the first free one.
        """
        wait_for(lambda: self.host.attempt(["umount", self.folder]).returncode == 0, f"{self.folder} stays in use")
        file = self.disk.path if self.disk else self.image
        if file:
            wait_for(lambda: not self.host.run(["losetup", "-j", file]), f"a loop device keeps {file}")

    def after_power_cut(self) -> Volume:
        """Return the volume as it is mounted again: what its disk had flushed, the journal replayed.

        Its processes have ended. A host's memory does not survive either: its /dev/shm is empty.
        """
        self.unmount()
        self.disk.stop()
        self.host.run("find /dev/shm -mindepth 1 -delete")
        self.host.run(["mount", "-o", "loop", self.image, self.folder])
        return Volume(self.host, self.folder, self.image, None)


def mount(
    host: Host, made: FileSystem, folder: str, *, megabytes: int = MEGABYTES, images: str | Path = IMAGES
) -> Volume:
    """Make a file system in a folder of images, mount it, and return the volume."""
    host.run(["mkdir", "-p", folder])
    if made.type == "tmpfs":
        host.run(["mount", "-t", "tmpfs", *_options(made), "tmpfs", folder])
        return Volume(host, folder, "", None)
    if made.type in {"overlay", "bind"}:
        return _mount_over(host, made, folder, megabytes, images)
    if made.in_zram:
        device = _make(host, made, _zram(host, megabytes))
        host.run(["mount", "-t", made.type, *_options(made), device, folder])
        return Volume(host, folder, device, None)
    below = images
    if made.over:
        below = mount(host, made.over, _below(folder), megabytes=2 * megabytes, images=images).folder
    image = _make(host, made, _image(host, below, folder, megabytes))
    _mount_image(host, made, image, folder)
    return Volume(host, folder, image, None)


def mount_slow(
    host: Host, program: Path, made: FileSystem, folder: str, *, flush_milliseconds: float,
    write_milliseconds: float = 0, megabytes: int = MEGABYTES,
) -> Volume:  # fmt: skip
    """Make a file system on a slow disk (`Laboratory.slow_disk` is the program), mount it, and return the volume."""
    host.run(["mkdir", "-p", folder])
    image = _make(host, made, _image(host, IMAGES, folder, megabytes))
    milliseconds = {"flush_milliseconds": flush_milliseconds, "write_milliseconds": write_milliseconds}
    disk = SlowDisk(host, program, image, **milliseconds)
    _mount_image(host, made, disk.path, folder)
    return Volume(host, folder, image, disk)


def _image(host: Host, images: str | Path, folder: str, megabytes: int) -> str:
    image = f"{images}/{folder.strip('/').replace('/', '-')}"
    host.run(f"mkdir -p {images}; truncate -s {megabytes}M {image}")
    return image


def _zram(host: Host, megabytes: int) -> str:
    added = ["setsid", "sh", "-e", "-c", ZRAM.format(host=host.pid, megabytes=megabytes)]
    return subprocess.run(added, capture_output=True, text=True, check=True).stdout.strip()


def _make(host: Host, made: FileSystem, image: str) -> str:
    force = ["-F", *NO_BACKGROUND] if made.type.startswith("ext") else ["-f"]
    host.run([f"mkfs.{made.type}", "-q", *force, *made.make.split(), image])
    if made.defaults:
        host.run(["tune2fs", "-o", made.defaults, image])
    return image


def _mount_image(host: Host, made: FileSystem, image: str, folder: str) -> None:
    """Mount it by a loop device that is free again when it is unmounted (mount(8))."""
    options = ",".join(filter(None, ["loop", made.options]))
    host.run(["mount", "-t", made.type, "-o", options, image, folder])
    caches = host.run(f"cat /sys/block/$(basename $(findmnt -no SOURCE --mountpoint {folder}))/queue/write_cache")
    assert caches == "write back\n", f"the loop device under {folder} sends no flushes: {caches}"


def _mount_over(host: Host, made: FileSystem, folder: str, megabytes: int, images: str | Path) -> Volume:
    over = made.over or FileSystem("ext4")
    below = mount(host, over, _below(folder), megabytes=megabytes, images=images).folder
    if made.type == "bind":
        host.run(f"mkdir -p {below}/ldap/db; mount --bind {below}/ldap/db {folder}")
    else:
        host.run(["mkdir", "-p", *(f"{below}/{name}" for name in ("lower", "upper", "work"))])
        layers = f"lowerdir={below}/lower,upperdir={below}/upper,workdir={below}/work"
        host.run(["mount", "-t", "overlay", *_options(made, layers), "overlay", folder])
    return Volume(host, folder, "", None)


def _below(folder: str) -> str:
    """Return where the file system below another one is mounted."""
    return f"/run/below{folder}"


def _options(made: FileSystem, *more: str) -> list[str]:
    options = ",".join(filter(None, [made.options, *more]))
    return ["-o", options] if options else []

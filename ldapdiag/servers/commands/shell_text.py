"""Shell text that can be pasted unchanged. A name from evidence is used only if it matches its grammar."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Mapping


HOST_NAME = pattern(r"[A-Za-z0-9:][A-Za-z0-9._:-]{0,254}")
"""A host name or an address, with or without a port, free of characters that are special in a shell or a URL."""

EXPANDED = pattern(r"[\\$`]")
"""What a shell expands in a here-document whose mark has no quotes."""

PLACEHOLDER = "SERVER"


def host_name(name: str) -> str:
    """Return a host for use in a URL, an IPv6 address in brackets; SERVER if it is not a valid host name."""
    return bracketed(name) if HOST_NAME.fullmatch(name) else PLACEHOLDER


def bracketed(host: str) -> str:
    """Return a host for use in a URL or a filter of ss, an IPv6 address in brackets."""
    return f"[{host}]" if host.count(":") > 1 else host


def here_document(command: str, *lines: str, mark: str = "LDIF") -> str:
    """Return a command that reads lines from a here-document; its mark is quoted, so the shell expands nothing."""
    return "\n".join([f"{command} <<'{mark}'", *lines, mark])


def inert(line: str) -> str:
    """Return a line for a here-document whose mark has no quotes, so that the shell expands nothing in it."""
    return EXPANDED.sub(r"\\\g<0>", line)


def ldif_replace(attribute: str, value: int | None, entry: str = "cn=config") -> list[str]:
    """Return the LDIF that sets one attribute of one entry, or deletes it when the value is None."""
    head = [f"dn: {entry}", "changetype: modify"]
    if value is None:
        return [*head, f"delete: {attribute}"]
    return [*head, f"replace: {attribute}", f"{attribute}: {value}"]


def sysctl_file(name: str, settings: Mapping[str, int | str]) -> str:
    """Return the commands that set kernel parameters now and at each boot."""
    path = f"/etc/sysctl.d/90-ldapdiag-{name}.conf"
    lines = [f"{key} = {value}" for key, value in settings.items()]
    return here_document(f"cat > {path}", *lines, mark="CONF") + f"\nsysctl -p {path}"


def sysctl_undo(name: str, settings: Mapping[str, int | str]) -> str:
    """Return the commands that remove the file of `sysctl_file` and restore the former values."""
    former = " ".join(quote(f"{key}={value}") for key, value in settings.items())
    return f"rm /etc/sysctl.d/90-ldapdiag-{name}.conf\nsysctl -w {former}"


def unit_drop_in(unit: str, descriptors: int) -> str:
    """Return the commands that raise the descriptor limit of a systemd unit from its next start."""
    folder = f"/etc/systemd/system/{unit}.d"
    file = here_document(f"cat > {folder}/90-ldapdiag.conf", "[Service]", f"LimitNOFILE={descriptors}", mark="CONF")
    return f"mkdir -p {folder}\n{file}\nsystemctl daemon-reload"


def unit_drop_in_undo(unit: str) -> str:
    """Return the commands that remove the drop-in."""
    return f"rm /etc/systemd/system/{unit}.d/90-ldapdiag.conf\nsystemctl daemon-reload"

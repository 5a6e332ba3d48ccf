"""Edited file: what is run once somebody has edited the index lines of slapd.conf. All of it was tried with 2.5.13.

slapd reads slapd.conf only when it starts, and slapindex builds only while it is stopped. So before slapd is stopped,
the file is read as slapd would read it (slaptest converts it into a folder of its own), and nothing is done unless the
section of the database says what it is to say. Once slapd is stopped, it is started again however this ends.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from ldapdiag.remedy import is_attribute_description, is_attribute_type
from ldapdiag.servers.openldap.index_lines import SUBSTRING_TYPES, UNTAGGED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.evidence.schema import Schema
    from ldapdiag.servers.candidates import Change
    from ldapdiag.servers.openldap.index_changes import LineChanges

# With -f, or the one that is compiled in. A path with a blank in it is not found by slaptest, and nothing is done.
FILE = r"file=$(ps -ww -o args= -C slapd | sed -n 's/.* -f *\([^ ]*\).*/\1/p')"
READ = [
    "folder=$(mktemp -d)",
    "trap 'rm -r \"$folder\"' EXIT",
    'slaptest -Q -n0 ${file:+-f "$file"} -F "$folder" || refuse "slapd does not take slapd.conf as it is"',
]
REFUSE = [
    'refuse() { echo "$1: nothing was done" >&2; exit 1; }',
    '[ "$(ps -o pid= -C slapd | wc -l)" -eq 1 ] || refuse "no slapd runs here, or several"',
    "user=$(ps -o user:32= -C slapd)",
    '[ -n "$user" ] || refuse "the account that slapd runs as is not told"',
    "file= folder=",
]
SHOW = "printf '%s\\n' \"$lines\""
ANY = "[a-z]+"


def checked(lines: LineChanges, suffix: str, schema: Schema, act: Iterable[str]) -> str:
    """Return commands that do nothing unless slapd.conf says what it is to say.

    Which lines there are is not asked of an attribute that the schema at hand does not know: slapd may show it by
    another name.
    """
    said = [_test(one, schema, "does not say", "||") for one in lines.added if _is_known(one, schema)]
    silent = [_test(one, schema, "still says", "&&") for one in lines.removed if _is_known(one, schema)]
    return alone([FILE, *READ, _read(suffix), *said, *silent, *act])


def alone(act: Iterable[str]) -> str:
    """Return commands in a shell of their own, which ends at the first that fails, and where one slapd runs only."""
    return "\n".join(["(", "set -e", *REFUSE, *act, ")"])


def building(suffix: str, attributes: Sequence[str]) -> list[str]:
    """Return what builds indexes while slapd is stopped, as the account that owns its files."""
    named = "".join(f" {one}" for one in attributes)
    return [
        "failed() { echo 'slapindex has not ended: searches may miss entries until it has' >&2; exit 1; }",
        "trap 'rm -rf \"$folder\"; systemctl start slapd || exit 1' EXIT",
        "trap failed HUP INT TERM",
        "systemctl stop slapd",
        f'runuser -u "$user" -- slapindex -q ${{file:+-f "$file"}} -b {shlex.quote(suffix)}{named} || failed',
    ]


def shown(suffix: str) -> str:
    """Return what shows the index lines of a database."""
    return "\n".join([FILE, READ[0], READ[2].partition(" || ")[0], _read(suffix), SHOW, 'rm -r "$folder"'])


def _read(suffix: str) -> str:
    """Return what reads the index lines of one database, one attribute to a line."""
    asked = shlex.quote(f"(olcSuffix={_escaped(suffix)})")
    return f'lines=$(slapcat -n0 -F "$folder" -o ldif-wrap=no -a {asked} | grep -i "^olcDbIndex: ") || true'


def _escaped(value: str) -> str:
    """Return a value as it may stand in a filter (RFC 4515)."""
    return "".join(f"\\{ord(one):02x}" if one in "\\*()\x00" else one for one in value)


def _is_known(change: Change, schema: Schema) -> bool:
    """Tell whether all names that slapd may show for an attribute are known: then its lines can be looked for."""
    return is_attribute_description(change.attribute) and schema.find(change.attribute.split(";")[0]) is not None


def _test(change: Change, schema: Schema, what: str, refused: str) -> str:
    """Return what looks for a type of index among the lines as slapd shows them: `olcDbIndex: cn pres,eq,sub`."""
    name, *options = change.attribute.lower().split(";")
    names = "|".join(sorted(one.replace(".", "[.]") for one in schema.names(name) if is_attribute_type(one)))
    tags = "".join(f";{one}" for one in sorted({*options} - UNTAGGED))
    type_ = "sub[a-z]*" if change.type in SUBSTRING_TYPES else change.type
    pattern = f"^olcDbIndex: ({names}){tags} ({ANY},)*{type_}(,|$)"
    said = f"slapd.conf {what} there: index {change.attribute} {change.type}"
    return f"{SHOW} | grep -Eiq {shlex.quote(pattern)} {refused} refuse {shlex.quote(said)}"

"""Commands to run after an administrator has edited the index lines of slapd.conf. All were tested with 2.5.13.

slapd reads slapd.conf only at its start, and slapindex needs slapd stopped. So the commands first read the file as
slapd would (slaptest converts it into a temporary directory) and do nothing unless the section of the database has the
expected lines. Once they have stopped slapd, they start it again in any case. They end with a check of the answers.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from ldapdiag.lazy_pattern import pattern
from ldapdiag.remedy import is_attribute_description, is_attribute_type
from ldapdiag.servers.openldap.index_lines import SUBSTRING_TYPES, UNTAGGED
from ldapdiag.servers.openldap.online_build import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.schema import Schema
    from ldapdiag.servers.indexes.candidates import Change
    from ldapdiag.servers.openldap.index_changes import LineChanges

# slaptest does not find a path with a space; then nothing is done.
CONVERTED = r"""index_lines() (
converted=$(mktemp -d)
trap 'rm -r "$converted"' EXIT
slaptest -Q -n0 ${file:+-f "$file"} -F "$converted" || exit 1
slapcat -n0 -F "$converted" -o ldif-wrap=no -a "$1" | grep -i '^olcDbIndex: ' || :
)"""
"""A function that reads the index lines of the database that a filter selects, one attribute per line."""
FILE = r"file=$(ps -ww -o args= -C slapd | sed -n 's/.* -f *\([^ ]*\).*/\1/p')"
SHOW = "printf '%s\\n' \"$lines\""
ANY = "[a-z]+"
HARMLESS = pattern(r"[\w .,:=+*@/-]+")
"""A line in which a shell finds neither a command nor an expansion."""


def checked(lines: LineChanges, suffix: str, schema: Schema) -> Iterator[str]:
    """Yield the steps that end the block unless slapd.conf has the expected lines; they need CONVERTED.

    Lines of an attribute that the schema in the evidence lacks are not tested: slapd may print another name of it.
    """
    yield "only_slapd"
    yield f"lines=$(index_lines {_selecting(suffix)}) || refuse 'slaptest rejects slapd.conf'"
    yield from (_test(one, schema, "does not contain", "||") for one in lines.added if _is_known(one, schema))
    yield from (_test(one, schema, "still contains", "&&") for one in lines.removed if _is_known(one, schema))


def edited(lines: LineChanges, suffix: str, commands: str) -> str:
    """Return the edit of slapd.conf as comments, and the commands to run after it."""
    return "\n".join(
        [
            f"# In slapd.conf, in the section of the database with the suffix {_commented(suffix)}:",
            *(f"# remove:  index {_commented(line)}" for line in lines.removed_lines),
            *(f"# add:     index {_commented(line)}" for line in lines.added_lines),
            "# Then run this at once, before anything else starts slapd; it does nothing unless the lines are there:",
            commands,
        ]
    )


def shown(suffix: str) -> str:
    """Return the commands that show the index lines of a database."""
    return "\n".join([FILE, CONVERTED, f"index_lines {_selecting(suffix)}"])


def _commented(line: str) -> str:
    """Return a line for use in a comment, which nothing in it ends; a zsh takes a pasted comment for a command."""
    if not line.isprintable():
        return "(a line with non-printable characters)"
    joined = " ".join(line.split())
    return joined if HARMLESS.fullmatch(joined) else shlex.quote(joined)


def _selecting(suffix: str) -> str:
    """Return the filter that selects a database, quoted."""
    return shlex.quote(f"(olcSuffix={escaped(suffix)})")


def _is_known(change: Change, schema: Schema) -> bool:
    """Return whether all names that slapd may print for an attribute are known, so that its lines can be tested."""
    return is_attribute_description(change.attribute) and schema.find(change.attribute.split(";")[0]) is not None


def _test(change: Change, schema: Schema, what: str, refused: str) -> str:
    """Return the command that searches the lines, as slapd prints them, for an index type: `olcDbIndex: cn pres,eq`."""
    name, *options = change.attribute.lower().split(";")
    names = "|".join(sorted(one.replace(".", "[.]") for one in schema.names(name) if is_attribute_type(one)))
    tags = "".join(f";{one}" for one in sorted({*options} - UNTAGGED))
    type_ = "sub[a-z]*" if change.type in SUBSTRING_TYPES else change.type
    pattern = f"^olcDbIndex: ({names}){tags} ({ANY},)*{type_}(,|$)"
    message = f"the section of slapd.conf {what}: index {change.attribute} {change.type}"
    return f"{SHOW} | grep -Eiq {shlex.quote(pattern)} {refused} refuse {shlex.quote(message)}"
